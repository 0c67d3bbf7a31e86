"""Early stopping by a held-out score: what it counts, what it keeps, what it claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.optimisers import TABLE
from unit.training.corpora import draw

pytestmark = pytest.mark.filterwarnings("ignore:training stopped after")  # few passes of dual ascent
OPTIMISERS = {
    "lbfgs": fc.LBFGS(tolerance=0.0, objective_tolerance=-1.0),
    "conjugate_gradient": fc.ConjugateGradient(tolerance=0.0, objective_tolerance=-1.0),
    "sgd": fc.SGD(tolerance=0.0, objective_tolerance=-1e300),
    "averaged_perceptron": fc.AveragedPerceptron(max_iterations=200, least_loss=0.0),
    "dual_ascent": fc.DualAscent(gap=0.0, patience=10**6),
    "handed_over": fc.DualAscent(gap=0.0, patience=1),
}


@pytest.fixture(scope="module")
def split() -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    X, y = draw(rng, 4, rng.integers(2, 10, size=80), n_names=15)
    return X[:50], y[:50], X[50:], y[50:]


@pytest.mark.parametrize("name", OPTIMISERS)
def test_patience_counts_scores(name: str, split: tuple[Any, ...]) -> None:
    """The best score, then as many that are no better as patience allows; that is no convergence."""
    X, y, X_dev, y_dev = split
    prior = None if name == "averaged_perceptron" else fc.Gaussian(variance=100.0)
    crf = fc.ChainCRF(prior=prior, optimiser=OPTIMISERS[name], n_jobs=1)
    crf.fit(X, y, X_dev=X_dev, y_dev=y_dev, patience=7)
    scores = [record.held_out for record in crf.training_log_]
    best = int(np.argmax(scores))
    assert len(scores) == best + 1 + 7
    assert (crf.stop_reason_, crf.converged_) == ("held-out score no longer rises", False)
    assert crf.score(X_dev, y_dev) == pytest.approx(max(scores))


def test_records_tell_estimates_from_objectives(split: tuple[Any, ...]) -> None:
    X, y, *_ = split
    kinds = {}
    for name in ("lbfgs", "averaged_perceptron", "dual_ascent"):
        prior = None if name == "averaged_perceptron" else fc.Gaussian()
        crf = fc.ChainCRF(prior=prior, optimiser=TABLE[name].optimiser(max_iterations=12)).fit(X, y)
        exact = [record.exact for record in crf.training_log_]
        assert [record.exact for record in fc.load(_saved(crf)).training_log_] == exact
        kinds[name] = set(exact)
    assert kinds["lbfgs"] == {True}
    assert kinds["averaged_perceptron"] == {False}
    assert False in kinds["dual_ascent"]


def _saved(crf: fc.ChainCRF) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.fc"
        crf.save(path)
        return path.read_bytes()


def test_auto_is_patient_with_l_bfgs(split: tuple[Any, ...]) -> None:
    """The first passes of dual ascent say little about where it leads."""
    X, y, X_dev, y_dev = split
    X, y = X * 100, y * 100  # enough tokens for dual ascent
    assert fc.ChainCRF().fit(X, y).optimiser_.name == "dual_ascent"
    crf = fc.ChainCRF().fit(X, y, X_dev=X_dev, y_dev=y_dev, patience=5)
    assert crf.optimiser_.name == "lbfgs"


CORPORA: dict[str, tuple[tuple[str, str], dict[str, Any], str]] = {
    "wnut17": (("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll"), {"columns": "word ner"}, "ner"),
    "conll2003": (
        ("conll2003/eng.train.gz", "conll2003/eng.testa"),
        {"columns": "word pos chunk ner"},
        "ner",
    ),
    "ewt": (("ud_en_ewt/en_ewt-ud-train.conllu.gz", "ud_en_ewt/en_ewt-ud-dev.conllu.gz"), {}, "upos"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_auto_with_patience_is_as_good_as_l_bfgs(name: str, data_file: Callable[[str], Path]) -> None:
    """On development data, four templates: at most 0.3 points below; and better than no entity at all."""
    files, options, label = CORPORA[name]
    train, dev = (fc.read(data_file(file), label=label, **options) for file in files)
    word = "form" if name == "ewt" else "word"
    templates = f"{word}[-1..1]\nlower({word})\nedge"
    scores = {}
    for optimiser in ("auto", "lbfgs"):
        crf = fc.ChainCRF(templates, optimiser=optimiser)
        crf.fit(train, X_dev=dev, patience=10)
        scores[optimiser] = max(r.held_out for r in crf.training_log_ if r.held_out is not None)
        assert not crf.converged_ or "held-out" not in crf.stop_reason_
    assert scores["auto"] >= scores["lbfgs"] - 0.003
