"""Dual ascent as users meet it: when "auto" takes it, what it tells, and where it ends on a corpus."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, DualAscent, Gaussian
from fieldcraft.errors import TrainingWarning
from fieldcraft.optimisers.dual_ascent import LARGE
from unit.training.corpora import draw
from unit.training.margin_cases import STATES


class Listener:
    """Keeps what a training tells; ends it after its first iteration if ``brief``."""

    def __init__(self, *, brief: bool = False) -> None:
        self.brief = brief
        self.remarks: list[str] = []

    def __call__(self, _record: Any) -> bool:
        return self.brief

    def tell(self, line: str) -> None:
        self.remarks.append(line)


def test_an_iteration_limit_is_reported() -> None:
    X, y = draw(np.random.default_rng(0), STATES, [4, 3, 5, 6], n_names=6)
    crf = ChainCRF(prior=Gaussian(), optimiser=DualAscent(max_iterations=3))
    with pytest.warns(
        TrainingWarning, match=r"stopped after 3 iterations, .* raise max_iterations"
    ) as warned:
        crf.fit(X, y)
    assert warned[0].filename == __file__
    assert (crf.converged_, crf.stop_reason_) == (False, "maximum number of iterations")
    assert crf.training_log_[-1].exact
    assert math.isfinite(crf.objective_value_)


def test_auto_tells_why_it_takes_another_method() -> None:
    """Where the corpus is large enough that dual ascent was to be expected."""
    X, y = draw(np.random.default_rng(0), STATES, [6] * 30, n_names=6)
    X, y = X * (LARGE // 180 + 1), y * (LARGE // 180 + 1)
    listener = Listener()
    crf = ChainCRF(optimiser="auto").fit(X, y, callbacks=[listener])
    assert crf.optimiser_.name == "dual_ascent"
    assert not [line for line in listener.remarks if "instead" in line]
    crf = ChainCRF(warm_start=True)
    for _ in range(2):
        crf.fit(X, y, callbacks=[listener])
    assert crf.optimiser_ == LBFGS(memory=20)
    assert listener.remarks[-1] == "lbfgs instead of dual_ascent: training continues from given weights"


@pytest.mark.parametrize(
    ("variance", "chosen"), [(300.0, "dual_ascent"), (301.0, "lbfgs"), (np.array([1.0, 301.0]), "lbfgs")]
)
def test_auto_leaves_very_weak_penalties_to_l_bfgs(variance: Any, chosen: str) -> None:
    """By the weakest of them, where weights have their own."""
    X, y = draw(np.random.default_rng(0), STATES, [6] * 30, n_names=6)
    X, y = X * (LARGE // 180 + 1), y * (LARGE // 180 + 1)
    if not np.isscalar(variance):
        variance = np.resize(variance, len(ChainCRF(optimiser=LBFGS(max_iterations=1)).fit(X, y).weights_))
    listener = Listener(brief=True)  # the choice is all that counts
    crf = ChainCRF(prior=Gaussian(variance=variance), optimiser="auto").fit(X, y, callbacks=[listener])
    assert crf.optimiser_.name == chosen
    weak = "lbfgs instead of dual_ascent: the penalty is very weak, with a variance above 300"
    assert (weak in listener.remarks) == (chosen == "lbfgs")


def test_auto_leaves_few_long_sequences_to_l_bfgs() -> None:
    X, y = draw(np.random.default_rng(0), STATES, [LARGE // 39 + 1] * 40, n_names=6)
    for n, chosen in ((40, "dual_ascent"), (39, "lbfgs")):
        listener = Listener(brief=True)
        crf = ChainCRF(prior=Gaussian(variance=0.5)).fit(X[:n], y[:n], callbacks=[listener])
        assert crf.optimiser_.name == chosen
        few = "lbfgs instead of dual_ascent: there are fewer than 40 sequences"
        assert (few in listener.remarks) == (chosen == "lbfgs")


def test_auto_learns_edges_that_look_at_the_input_with_it() -> None:
    """Entries are counted for the budget."""
    X, y = draw(np.random.default_rng(0), STATES, [6] * 30, n_names=6, edges=True)
    X, y = X * (LARGE // 180 + 1), y * (LARGE // 180 + 1)
    crf = ChainCRF(edge_prefix="e/").fit(X, y)
    assert (crf.optimiser_.name, crf.stop_reason_) == ("dual_ascent", "duality gap small enough")
    other = ChainCRF(edge_prefix="e/", optimiser=LBFGS(objective_tolerance=1e-9)).fit(X, y)
    assert crf.objective_value_ == pytest.approx(other.objective_value_, rel=1e-5)


def joined(corpus: Any, tokens: int) -> tuple[list[Any], list[list[str]]]:
    """Sentences one after the other, in sequences of at least so many tokens."""
    X: list[Any] = [[]]
    y: list[list[str]] = [[]]
    for sentence in corpus:
        if len(y[-1]) >= tokens:
            X.append([])
            y.append([])
        X[-1] += zip(sentence.columns["word"])
        y[-1] += sentence.labels
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "tokens", "passes"),
    [
        ("bc2gm/train.tsv.gz", 300, 75),
        ("wnut17/wnut17train.conll", 1000, 75),
    ],
)
def test_documents_as_sequences(
    file: str, tokens: int, passes: int, data_file: Callable[[str], Path]
) -> None:
    """A step moves a whole sequence: where it is long, few may move together."""
    X, y = joined(fc.read(data_file(file), label="ner", columns="word ner"), tokens)
    templates = (
        "columns word\nword[-1..1]\nlower(word)\nshape(word)\nprefix(word, 1..3)\nsuffix(word, 1..3)\nedge"
    )
    best, crf = (
        ChainCRF(templates, prior=Gaussian(variance=0.5), optimiser=optimiser).fit(X, y)
        for optimiser in (LBFGS(memory=20, objective_tolerance=1e-9), "auto")
    )
    assert (crf.optimiser_.name, crf.stop_reason_) == ("dual_ascent", "duality gap small enough")
    assert crf.n_iter_ <= passes
    assert crf.objective_value_ <= best.objective_value_ * (1 + 1e-5)


@pytest.mark.slow
def test_features_that_most_tokens_have(data_file: Callable[[str], Path]) -> None:
    """A letter's 128 pixels: a quarter of them are the next one's, too."""
    with np.load(data_file("ocr_letters/letters.npz")) as letters:
        pixels, labels, offsets = (letters[name] for name in ("pixels", "labels", "offsets"))
    names = np.array([f"pixel {k}" for k in range(pixels.shape[1])], object)
    X = [[list(names[row > 0]) for row in pixels[a:b]] for a, b in zip(offsets, offsets[1:])]
    y = [[chr(97 + k) for k in labels[a:b]] for a, b in zip(offsets, offsets[1:])]
    best, crf = (
        ChainCRF(prior=Gaussian(variance=0.5), optimiser=optimiser).fit(X, y)
        for optimiser in (LBFGS(memory=20, objective_tolerance=1e-9), "auto")
    )
    assert (crf.optimiser_.name, crf.stop_reason_) == ("dual_ascent", "duality gap small enough")
    assert crf.n_iter_ <= 27
    assert crf.objective_value_ <= best.objective_value_ * (1 + 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("variance", [0.5, 5.0, 50.0])
def test_auto_ends_near_the_optimum_of_a_corpus(variance: float, data_file: Callable[[str], Path]) -> None:
    """By itself, at most 1e-5 above it; no dual on the way exceeds it (sums of 60,000 tokens in 32 bits)."""
    train = fc.read(data_file("wnut17/wnut17train.conll"), label="ner", columns="word ner")
    templates = "word[-1..1]\nlower(word)\nshape(word)\nprefix(word, 1..3)\nsuffix(word, 1..3)\nedge"
    best, crf = (
        ChainCRF(templates, prior=Gaussian(variance=variance), optimiser=optimiser).fit(train)
        for optimiser in (LBFGS(memory=20, tolerance=1e-8, objective_tolerance=1e-10), "auto")
    )
    least = best.objective_value_
    assert (crf.optimiser_.name, crf.stop_reason_) == ("dual_ascent", "duality gap small enough")
    assert least * (1 - 1e-9) <= crf.objective_value_ <= least * (1 + 1e-5)
    gaps = [record.gap for record in crf.training_log_]
    exact = np.minimum.accumulate([r.objective if r.exact else math.inf for r in crf.training_log_])
    for objective, gap in zip(exact, gaps):
        assert math.isinf(objective) or objective - gap <= least * (1 + 1e-9)
