"""Empirical Bayes: its fixed point by a Hessian written out, its estimate of traces, what it refuses."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError, Gaussian, groups
from fieldcraft.tuning import evidence
from unit.training.corpora import Floats, design_of, draw, plain

N_LABELS = 3
EXACT: dict[str, Any] = {"tolerance": 1e-9, "objective_tolerance": 0.0, "max_iterations": 2000}


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(3)
    X, y = draw(rng, N_LABELS, rng.integers(2, 8, size=30), n_names=8)
    y[0][0], y[1][0], y[2][0] = "L000", "L001", "L002"
    return X, y


def gammas(design: Any, w: Floats, variance: Floats) -> Floats:
    """[F] 1 - S_kk / variance_k, S by inverting the Hessian, which is found from the oracle's gradients."""
    n, step = len(w), 1e-5
    hessian = np.empty((n, n))
    for k in range(n):
        move = np.zeros(n)
        move[k] = step
        above, below = (plain(design, N_LABELS, w + sign * move).gradient for sign in (1, -1))
        hessian[k] = (above - below) / (2 * step)
    return 1.0 - np.diag(np.linalg.inv(hessian + np.diag(1.0 / variance))) / variance


def test_fixed_point_of_one_variance(corpus: Any) -> None:
    crf = ChainCRF(prior=Gaussian(variance=5.0, mean=0.1), optimiser=LBFGS(**EXACT))
    found = fc.empirical_bayes(crf, *corpus, tolerance=1e-3, rounds=200)
    assert found.converged
    assert found.model is not None
    w, v = found.model.weights_, found.variance
    assert isinstance(v, float)
    assert found.model.prior == Gaussian(v, 0.1)
    gamma = gammas(design_of(*corpus, N_LABELS), w, np.full(len(w), v)).sum()
    assert found.rounds[-1].determined[0] == pytest.approx(gamma, rel=5e-3)
    assert v == pytest.approx(np.sum((w - 0.1) ** 2) / gamma, rel=1e-2)
    assert 0 < gamma < len(w)
    other = fc.empirical_bayes(crf.set_params(prior=Gaussian(0.05, 0.1)), *corpus, tolerance=1e-3, rounds=200)
    assert other.variance == pytest.approx(v, rel=2e-2)  # wherever it begins


def test_a_variance_for_each_group(corpus: Any) -> None:
    rule = groups.by_dependency(transitions=1.0, emissions=1.0)
    crf = ChainCRF(prior=Gaussian(variance=rule), optimiser=LBFGS(**EXACT))
    found = fc.empirical_bayes(crf, *corpus, tolerance=2e-3, rounds=300)
    assert found.converged
    assert found.model is not None
    transitions, emissions = found.rounds[-1].variances
    assert found.model.prior.variance == groups.by_dependency(transitions=transitions, emissions=emissions)
    w, edge = found.model.weights_, found.model.features_.is_edge
    gamma = gammas(design_of(*corpus, N_LABELS), w, np.where(edge, transitions, emissions))
    assert transitions == pytest.approx(np.sum(w[edge] ** 2) / gamma[edge].sum(), rel=2e-2)
    assert emissions == pytest.approx(np.sum(w[~edge] ** 2) / gamma[~edge].sum(), rel=2e-2)
    assert abs(np.log(transitions / emissions)) > 0.1


def test_signs_estimate_the_trace(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    crf = ChainCRF(prior=Gaussian(variance=2.0), optimiser=LBFGS(**EXACT))
    exact = fc.empirical_bayes(crf, *corpus, rounds=1).rounds[0].determined[0]
    monkeypatch.setattr(evidence, "FEW", 0)
    rough = fc.empirical_bayes(crf, *corpus, rounds=1).rounds[0].determined[0]
    assert rough != exact
    assert rough == pytest.approx(exact, rel=0.02)  # several hundred vectors


def test_an_infinite_variance_stays(corpus: Any) -> None:
    rule = groups.by_dependency(transitions=np.inf, emissions=1.0)
    found = fc.empirical_bayes(ChainCRF(prior=Gaussian(variance=rule)), *corpus, rounds=3)
    assert [r.variances[0] for r in found.rounds] == [np.inf] * len(found.rounds)
    assert found.rounds[-1].variances[1] != 1.0


def test_rounds_are_told(corpus: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = corpus
    crf = ChainCRF(prior=Gaussian(variance=1.0), verbose=True)
    found = fc.empirical_bayes(crf, X, y, X_dev=X, y_dev=y, rounds=2, tolerance=1e-9)
    assert not found.converged
    assert len(found.rounds) == 2
    assert found.rounds[0].score == pytest.approx(
        ChainCRF(prior=Gaussian(1.0), optimiser=LBFGS(**EXACT)).fit(X, y).score(X, y), abs=0.01
    )
    told = capsys.readouterr()
    assert told.out == ""
    assert "weights determined, score" in told.err
    assert str(found).splitlines()[0].split()[:4] == ["variance", "determined", "value", "score"]
    assert str(found).endswith("out of rounds")
    assert found.to_dict()["rounds"][0]["variances"] == (1.0,)
    assert crf.prior == Gaussian(variance=1.0)  # as it was


def test_weights_of_sequences_count(corpus: Any) -> None:
    X, y = corpus
    crf = ChainCRF(prior=Gaussian(variance=1.0), optimiser=LBFGS(**EXACT))
    twice = fc.empirical_bayes(crf, [*X, *X], [*y, *y], rounds=2, tolerance=1e-9)
    weighed = fc.empirical_bayes(crf, X, y, sample_weight=np.full(len(X), 2.0), rounds=2, tolerance=1e-9)
    assert twice.variance == pytest.approx(weighed.variance, rel=1e-6)


def test_weights_of_a_corpus_count() -> None:
    plain = fc.datasets.addresses(n=12)
    heavy = fc.Corpus([replace(sequence, weight=2.0) for sequence in plain])
    crf = ChainCRF("word\nedge", prior=Gaussian(variance=1.0), optimiser=LBFGS(**EXACT))
    weighed = fc.empirical_bayes(crf, heavy, rounds=2, tolerance=1e-9)
    told = fc.empirical_bayes(crf, plain, sample_weight=[2.0] * len(plain), rounds=2, tolerance=1e-9)
    assert weighed.variance == told.variance
    assert weighed.variance != fc.empirical_bayes(crf, plain, rounds=2, tolerance=1e-9).variance


@pytest.mark.alone
def test_interrupt_leaves_the_rounds_so_far(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = evidence._Search.round

    def interrupted(self: Any, *rest: Any) -> Any:
        done = whole(self, *rest)
        signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(evidence._Search, "round", interrupted)
    found = fc.empirical_bayes(ChainCRF(prior=Gaussian(variance=1.0)), *corpus, tolerance=1e-9)
    assert found.interrupted
    assert len(found.rounds) == 1
    assert found.model is not None


@pytest.mark.parametrize(
    ("settings", "arguments", "complaint"),
    [
        ({"prior": fc.Laplacian()}, {}, "sets a Gaussian's variance; the prior is Laplacian"),
        ({"prior": None}, {}, "sets a Gaussian's variance; the prior is NoPrior"),
        ({"prior": Gaussian([1.0, 2.0])}, {}, "one variance or one per group"),
        ({"prior": Gaussian(groups.times_count(1.0))}, {}, "one variance or one per group"),
        ({"prior": Gaussian(variance=-1.0)}, {}, "variance is -1"),
        ({"objective": "pseudo_likelihood"}, {}, "needs objective='likelihood'"),
        ({"features": "selected"}, {}, "does not support features='selected'"),
        ({}, {"rounds": 0}, "rounds is 0; it must be a whole number, at least 1"),
        ({}, {"tolerance": 0.0}, "tolerance is 0.0; it must be greater than 0"),
        ({}, {"sample_weight": [1.0]}, "sample_weight has shape"),
    ],
)
def test_refusals(corpus: Any, settings: Any, arguments: Any, complaint: str) -> None:
    with pytest.raises(FieldcraftError, match=complaint):
        fc.empirical_bayes(ChainCRF(**settings), *corpus, **arguments)
