"""Where optimisers stop, no direction leads down: conditions written out, and agreement with SciPy.

Smooth f:        |grad f(w)| = 0
With |.| of strengths c:   w > 0: g = -c,   w < 0: g = +c,   w = 0: |g| <= c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fieldcraft import LBFGS, OWLQN, ChainCRF, ElasticNet, Gaussian, Laplacian
from unit.training.corpora import Floats, Loss, design_of, draw, plain, same

EXACT: dict[str, Any] = {
    "max_iterations": 2000,
    "tolerance": 1e-9,
    "objective_tolerance": 0.0,
    "period": 50,
}
N_LABELS = 3


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(42)
    X, y = draw(rng, N_LABELS, rng.integers(1, 8, size=25), n_names=7, values=True)
    y[0][0], y[1][0], y[2][0] = "L000", "L001", "L002"  # all labels occur
    return X, y


@pytest.fixture(scope="module")
def n_weights(corpus: tuple[list[Any], list[list[str]]]) -> int:
    return len(design_of(*corpus, N_LABELS).index)


def loss_at(corpus: tuple[list[Any], list[list[str]]], weights: Floats) -> Loss:
    """The likelihood part, from the plain model."""
    return plain(design_of(*corpus, N_LABELS), N_LABELS, weights)


def vector(n: int, low: float, high: float, *, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).uniform(low, high, size=n)


SMOOTH = {
    "scalar": lambda n: (np.full(n, 2.0), np.zeros(n)),
    "per-weight": lambda n: (vector(n, 0.1, 5.0), np.zeros(n)),
    "mean": lambda n: (np.full(n, 0.7), np.full(n, 0.5)),
    "per-weight-mean": lambda n: (vector(n, 0.1, 5.0), vector(n, -2.0, 2.0, seed=1)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_lbfgs(corpus: tuple[list[Any], list[list[str]]], n_weights: int, name: str) -> None:
    variance, mean = SMOOTH[name](n_weights)
    crf = ChainCRF(prior=Gaussian(variance=variance, mean=mean), optimiser=LBFGS(**EXACT)).fit(*corpus)
    loss = loss_at(corpus, crf.weights_)
    gradient = loss.gradient + (crf.weights_ - mean) / variance
    assert np.linalg.norm(gradient) <= 1e-7
    value = loss.value + float(((crf.weights_ - mean) ** 2 / (2 * variance)).sum())
    assert crf.objective_value_ == pytest.approx(value, rel=1e-12)
    assert crf.training_log_[-1].gradient_norm == pytest.approx(np.linalg.norm(gradient), abs=1e-9)
    assert crf.converged_


def test_scalar_and_vector_strengths_are_one(
    corpus: tuple[list[Any], list[list[str]]], n_weights: int
) -> None:
    for scalar, per_weight in [
        (Gaussian(variance=2.0), Gaussian(variance=np.full(n_weights, 2.0), mean=np.zeros(n_weights))),
        (Laplacian(scale=2.0), Laplacian(scale=np.full(n_weights, 2.0))),
    ]:
        found = [ChainCRF(prior=prior).fit(*corpus).weights_.tobytes() for prior in (scalar, per_weight)]
        assert found[0] == found[1]


def test_infinite_variance_is_no_penalty(corpus: tuple[list[Any], list[list[str]]]) -> None:
    short = LBFGS(max_iterations=5)
    none = ChainCRF(prior=None, optimiser=short).fit(*corpus)
    flat = ChainCRF(prior=Gaussian(variance=np.inf), optimiser=short).fit(*corpus)
    same(flat.weights_, none.weights_, rel=0, abs=0)
    assert none.objective_value_ == pytest.approx(loss_at(corpus, none.weights_).value, rel=1e-12)


def kinked(n: int) -> dict[str, tuple[Any, Floats, Floats]]:
    """name -> prior, strengths of |w|, precisions."""
    scales, variances = vector(n, 0.1, 3.0), vector(n, 0.1, 5.0, seed=1)
    return {
        "scalar": (Laplacian(scale=0.5), np.full(n, 2.0), np.zeros(n)),
        "per-weight": (Laplacian(scale=scales), 1 / scales, np.zeros(n)),
        "elastic": (ElasticNet(scale=0.5, variance=2.0), np.full(n, 2.0), np.full(n, 0.5)),
        "elastic-vectors": (ElasticNet(scale=scales, variance=variances), 1 / scales, 1 / variances),
    }


@pytest.mark.parametrize("name", ["scalar", "per-weight", "elastic", "elastic-vectors"])
def test_owlqn(corpus: tuple[list[Any], list[list[str]]], n_weights: int, name: str) -> None:
    prior, strength, precision = kinked(n_weights)[name]
    crf = ChainCRF(prior=prior, optimiser=OWLQN(**EXACT)).fit(*corpus)
    w = crf.weights_
    loss = loss_at(corpus, w)
    g = loss.gradient + precision * w
    tight = 1e-6
    assert np.abs(g + strength * np.sign(w))[w != 0].max() <= tight
    assert (np.abs(g) - strength)[w == 0].max() <= tight
    assert 0 < np.count_nonzero(w) < n_weights
    value = loss.value + float((strength * np.abs(w)).sum() + (precision * w * w).sum() / 2)
    assert crf.objective_value_ == pytest.approx(value, rel=1e-12)
    assert crf.training_log_[-1].active == np.count_nonzero(w)


def test_owlqn_without_absolute_values_is_a_smooth_minimiser(
    corpus: tuple[list[Any], list[list[str]]],
) -> None:
    found = [
        ChainCRF(prior=prior, optimiser=optimiser).fit(*corpus)
        for prior, optimiser in [
            (Gaussian(variance=1.0), LBFGS(**EXACT)),
            (Gaussian(variance=1.0), OWLQN(**EXACT)),
            (ElasticNet(scale=np.inf, variance=1.0), OWLQN(**EXACT)),
        ]
    ]
    for other in found[1:]:
        same(other.weights_, found[0].weights_, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", ["smooth", "kinked"])
def test_a_mask_keeps_weights_at_zero(
    corpus: tuple[list[Any], list[list[str]]], n_weights: int, kind: str
) -> None:
    """Also where the prior's mean would pull them away; the others reach their own optimum."""
    mask = np.random.default_rng(3).random(n_weights) < 0.6
    mean = vector(n_weights, -1.0, 1.0) if kind == "smooth" else np.zeros(n_weights)
    strength = np.zeros(n_weights) if kind == "smooth" else np.full(n_weights, 0.8)
    prior = Gaussian(variance=1.5, mean=mean) if kind == "smooth" else ElasticNet(1 / 0.8, 1.5)
    optimiser = LBFGS(**EXACT) if kind == "smooth" else OWLQN(**EXACT)
    crf = ChainCRF(prior=prior, optimiser=optimiser).fit(*corpus, feature_mask=mask)
    w = crf.weights_
    assert np.all(w[~mask] == 0.0)
    g = loss_at(corpus, w).gradient + (w - mean) / 1.5
    assert np.abs(g + strength * np.sign(w))[mask & (w != 0)].max() <= 1e-6
    assert (np.abs(g) - strength)[mask & (w == 0)].max(initial=0.0) <= 1e-6
    by_rule = ChainCRF(prior=prior, optimiser=optimiser).fit(
        *corpus, feature_mask=lambda index: mask[: len(index)]
    )
    assert by_rule.weights_.tobytes() == w.tobytes()


def test_a_mask_of_nothing_leaves_zero_weights(
    corpus: tuple[list[Any], list[list[str]]], n_weights: int
) -> None:
    crf = ChainCRF().fit(*corpus, feature_mask=np.zeros(n_weights, bool))
    assert np.all(crf.weights_ == 0.0)
    assert crf.converged_


def test_scipy_finds_the_same_minimum(corpus: tuple[list[Any], list[list[str]]], n_weights: int) -> None:
    def penalised(w: Floats) -> tuple[float, Floats]:
        loss = loss_at(corpus, w)
        return loss.value + float(w @ w) / 4, loss.gradient + w / 2

    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 20}
    theirs = optimize.minimize(penalised, np.zeros(n_weights), jac=True, method="L-BFGS-B", options=options)
    ours = ChainCRF(prior=Gaussian(variance=2.0), optimiser=LBFGS(**EXACT)).fit(*corpus)
    assert ours.objective_value_ <= theirs.fun * (1 + 1e-12)
    same(ours.weights_, theirs.x, rel=1e-5, abs=1e-6)


def test_sample_weights_are_repeats(corpus: tuple[list[Any], list[list[str]]]) -> None:
    X, y = corpus
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    often_X = [x for x, n in zip(X, times) for _ in range(n)]
    often_y = [labels for labels, n in zip(y, times) for _ in range(n)]
    settings: dict[str, Any] = {"prior": Gaussian(variance=2.0), "optimiser": LBFGS(**EXACT)}
    weighted = ChainCRF(**settings).fit(X, y, sample_weight=times)
    repeated = ChainCRF(**settings).fit(often_X, often_y)
    same(weighted.weights_, repeated.weights_, rel=1e-6, abs=1e-7)
    assert weighted.objective_value_ == pytest.approx(repeated.objective_value_, rel=1e-11)


def test_weights_of_one_change_nothing(corpus: tuple[list[Any], list[list[str]]]) -> None:
    X, y = corpus
    plain_fit = ChainCRF().fit(X, y)
    weighted = ChainCRF().fit(X, y, sample_weight=np.ones(len(X)))
    assert plain_fit.weights_.tobytes() == weighted.weights_.tobytes()


def test_a_weight_of_zero_leaves_a_sequence_out(corpus: tuple[list[Any], list[list[str]]]) -> None:
    """With all features in both, the last sequence may as well not be there."""
    X, y = corpus
    costs = np.ones(len(X))
    costs[-1] = 0.0
    settings: dict[str, Any] = {"features": "all", "optimiser": LBFGS(**EXACT)}
    settings["prior"] = Gaussian(variance=2.0)
    without = ChainCRF(**settings).fit(X[:-1], y[:-1])
    ignored = ChainCRF(**settings).fit(X, y, sample_weight=costs)
    assert len(without.weights_) == len(ignored.weights_)
    same(ignored.weights_, without.weights_, rel=1e-6, abs=1e-7)
