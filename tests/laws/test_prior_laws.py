"""Each prior at its minimum, by the condition that the prior itself states.

With d = E_empirical[f] - E_model[f], written out by hand (unit/training/corpora.py), at the minimum

    Gaussian      d = (w - mean) / variance
    Laplacian     d = sign(w) / scale  where w is not 0, else |d| <= 1 / scale
    hyperbolic    d = tanh(w / scale) / scale
    elastic net   d = w / variance + sign(w) / scale, else |d| <= 1 / scale
    inequality    d = A + max(w, 0) / (2 C1) above 0,  -d = B + max(-w, 0) / (2 C2) below,  A >= d >= -B at 0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldcraft import (
    EM,
    LBFGS,
    OWLQN,
    BoundedLBFGS,
    ChainCRF,
    ConjugateGradient,
    ElasticNet,
    Gaussian,
    Hyperbolic,
    Inequality,
    Laplacian,
)
from unit.training.corpora import Floats, design_of, draw, plain

EXACT: dict[str, Any] = {
    "max_iterations": 5000,
    "tolerance": 1e-10,
    "objective_tolerance": 0.0,
    "period": 200,
}
N_LABELS = 3
TIGHT = 2e-6
Condition = Callable[[Floats, Floats], Floats]  # d, w -> how far each weight is from its condition
Case = tuple[Any, Condition, Callable[[Floats], float]]  # prior, condition, penalty


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(5)
    X, y = draw(rng, N_LABELS, rng.integers(1, 8, size=30), n_names=8, values=True, edges=True)
    y[0][0], y[1][0], y[2][0] = "L000", "L001", "L002"  # all labels occur
    return X, y


def kink(d: Floats, w: Floats, above: Floats, below: Floats) -> Floats:
    """How far from: d = above over zero, -d = below under it, between the two at zero."""
    at_zero = np.maximum(np.maximum(d - above, -d - below), 0.0)
    return np.where(w > 0, np.abs(d - above), np.where(w < 0, np.abs(d + below), at_zero))


def spread(n: int, low: float, high: float, seed: int) -> Floats:
    return np.random.default_rng(seed).uniform(low, high, size=n)


def cases(n: int) -> dict[str, Case]:
    v, m, b, c = spread(n, 0.2, 5, 0), spread(n, -1, 1, 1), spread(n, 0.2, 2, 2), spread(n, 0.5, 3, 3)

    def gaussian(v: Any, m: Any) -> Case:
        return (
            Gaussian(variance=v, mean=m),
            lambda d, w: np.abs(d - (w - m) / v),
            lambda w: float(np.sum((w - m) ** 2 / (2 * v))),
        )

    def hyperbolic(b: Any) -> Case:
        return (
            Hyperbolic(scale=b),
            lambda d, w: np.abs(d - np.tanh(w / b) / b),
            lambda w: float(np.sum(np.log(np.cosh(w / b)))),
        )

    def elastic(b: Any, v: Any) -> Case:
        return (
            Laplacian(scale=b) if np.all(np.isinf(v)) else ElasticNet(scale=b, variance=v),
            lambda d, w: kink(d - w / v, w, 1 / b + 0 * w, 1 / b + 0 * w),
            lambda w: float(np.sum(np.abs(w) / b + w**2 / (2 * v))),
        )

    def inequality(A: Any, B: Any, C1: Any = np.inf, C2: Any = np.inf) -> Case:
        extension = {} if np.all(np.isinf(C1)) else {"quadratic": C1, "quadratic_negative": C2}
        up, down = (lambda w: np.maximum(w, 0)), (lambda w: np.maximum(-w, 0))
        return (
            Inequality(positive=A, negative=B, **extension),
            lambda d, w: kink(d, w, A + up(w) / (2 * C1), B + down(w) / (2 * C2)),
            lambda w: float(
                np.sum(A * up(w) + B * down(w) + up(w) ** 2 / (4 * C1) + down(w) ** 2 / (4 * C2))
            ),
        )

    return {
        "gaussian": gaussian(2.0, 0.0),
        "gaussian mean": gaussian(2.0, 0.6),
        "gaussian vectors": gaussian(v, m),
        "hyperbolic": hyperbolic(0.7),
        "hyperbolic vector": hyperbolic(b),
        "laplacian": elastic(0.8, np.inf),
        "laplacian vector": elastic(b, np.inf),
        "elastic net": elastic(0.9, 3.0),
        "elastic net vectors": elastic(b, v),
        "inequality mode 1": inequality(0.8, 0.8),
        "inequality mode 2": inequality(0.3, 1.6),
        "inequality vectors": inequality(b, c),
        "inequality extended": inequality(0.3, 1.1, 0.8, 2.0),
        "inequality extended vectors": inequality(b, c, v, c),
    }


SMOOTH = [name for name in cases(1) if name.startswith(("gaussian", "hyperbolic"))]
KINKED = [name for name in cases(1) if name not in SMOOTH]
OPTIMISERS = {
    "lbfgs": LBFGS(**EXACT),
    "conjugate_gradient": ConjugateGradient(**EXACT),
    "owlqn": OWLQN(**EXACT),
    "owlqn_as_published": OWLQN(**EXACT, as_published=True),
    "bounded_lbfgs": BoundedLBFGS(**EXACT),
}
PAIRS = [
    *((name, optimiser) for name in SMOOTH for optimiser in OPTIMISERS),
    *((name, optimiser) for name in KINKED for optimiser in ("owlqn", "owlqn_as_published", "bounded_lbfgs")),
]


@pytest.mark.parametrize(("name", "optimiser"), PAIRS)
def test_stationarity(corpus: Any, name: str, optimiser: str) -> None:
    design = design_of(*corpus, N_LABELS, edges=True)
    prior, condition, penalty = cases(len(design.index))[name]
    crf = ChainCRF(prior=prior, optimiser=OPTIMISERS[optimiser], edge_prefix="e/").fit(*corpus)
    w = crf.weights_
    loss = plain(design, N_LABELS, w)
    assert condition(-loss.gradient, w).max() <= TIGHT
    assert crf.objective_value_ == pytest.approx(loss.value + penalty(w), rel=1e-11)
    if name in KINKED:
        assert 0 < np.count_nonzero(w) < len(w)
        assert crf.training_log_[-1].active == np.count_nonzero(w)


@pytest.mark.parametrize("name", KINKED)
def test_two_optimisers_one_minimum(corpus: Any, name: str) -> None:
    n = len(design_of(*corpus, N_LABELS, edges=True).index)
    found = [
        ChainCRF(prior=cases(n)[name][0], optimiser=OPTIMISERS[one], edge_prefix="e/").fit(*corpus)
        for one in ("owlqn", "bounded_lbfgs")
    ]
    assert found[0].objective_value_ == pytest.approx(found[1].objective_value_, rel=1e-10)
    np.testing.assert_allclose(found[0].weights_, found[1].weights_, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found[0].weights_ == 0, found[1].weights_ == 0)


@pytest.mark.parametrize("strength", [0.05, 0.5, 2.0])
def test_laplacian_is_inequality_in_mode_1(corpus: Any, strength: float) -> None:
    found = [
        ChainCRF(prior=prior, optimiser=optimiser).fit(*corpus).objective_value_
        for prior in (Laplacian(scale=1 / strength), Inequality(positive=strength))
        for optimiser in (OWLQN(**EXACT), BoundedLBFGS(**EXACT))
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-6)


def test_extension_with_one_constant_is_the_elastic_net(corpus: Any) -> None:
    """alpha^2 / (4 C) is a Gaussian of variance 2 C."""
    optimiser = OWLQN(**EXACT)
    ours = ChainCRF(prior=Inequality(positive=0.5, quadratic=1.5), optimiser=optimiser).fit(*corpus)
    same = ChainCRF(prior=ElasticNet(scale=2.0, variance=3.0), optimiser=optimiser).fit(*corpus)
    np.testing.assert_allclose(ours.weights_, same.weights_, rtol=1e-6, atol=1e-7)


def test_hyperbolic_lies_between() -> None:
    """Near zero it is a Gaussian of variance scale^2; far out a Laplacian less log 2; nothing overflows."""
    penalty = Hyperbolic(scale=0.5).smooth_part(1)
    gradient, x = np.zeros(1), 1e-4
    near = penalty(np.array([x]), gradient)
    assert near == pytest.approx(x**2 / (2 * 0.5**2), rel=1e-6)
    assert gradient[0] == pytest.approx(x / 0.5**2, rel=1e-6)
    for far in (-1e6, 1e300):
        gradient[:] = 0.0
        assert penalty(np.array([far]), gradient) == pytest.approx(abs(far) / 0.5 - np.log(2), rel=1e-15)
        assert gradient[0] == np.sign(far) / 0.5


def test_bounds_go_with_kinks(corpus: Any) -> None:
    """Weights between bounds, absolute values penalised: condition of the part that is not held."""
    crf = ChainCRF(prior=Laplacian(scale=2.0), optimiser=BoundedLBFGS(**EXACT, lower=-0.2, upper=0.4))
    w = crf.fit(*corpus).weights_
    assert w.min() == pytest.approx(-0.2)
    assert w.max() == pytest.approx(0.4)
    d = -plain(design_of(*corpus, N_LABELS), N_LABELS, w).gradient
    inside = (w > -0.2) & (w < 0.4)
    half = np.full(len(w), 0.5)
    assert kink(d, w, half, half)[inside].max() <= 1e-6
    assert np.all(d[w == 0.4] >= 0.5 - 1e-9)
    assert np.all(d[w == -0.2] <= -0.5 + 1e-9)


@pytest.mark.parametrize(
    "prior", [Hyperbolic(scale=0.7), Inequality(0.2, 0.5, quadratic=2.0)], ids=["smooth", "both"]
)
def test_em_ends_where_the_gradient_ends(corpus: Any, prior: Any) -> None:
    """Partial labels: EM's last point is stationary for the penalised marginal likelihood."""
    X, y = corpus
    partial = [[None if (i + t) % 3 == 0 else label for t, label in enumerate(s)] for i, s in enumerate(y)]
    settings: dict[str, Any] = {"prior": prior, "labels": ["L000", "L001", "L002"]}
    by_em = ChainCRF(**settings, optimiser=EM(**EXACT), objective="marginal_likelihood").fit(X, partial)
    again = ChainCRF(**settings, optimiser=OWLQN(**EXACT), objective="marginal_likelihood", warm_start=True)
    again.fit(X, partial)
    again._settle(by_em._parameters, by_em.classes_.tolist())
    again.fit(X, partial)
    assert again.objective_value_ == pytest.approx(by_em.objective_value_, rel=1e-9)
    np.testing.assert_allclose(again.weights_, by_em.weights_, rtol=1e-3, atol=1e-4)
