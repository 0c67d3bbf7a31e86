"""Weights by likelihood are stationary on the simplex, weights by a score no worse than uniform ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from pool_cases import data, trained

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.pools.likelihoods import sequence_likelihood
from fieldcraft.pools.weights import best_scored, most_likely, resolve_dirichlet
from fieldcraft.tuning.simplex import WALKS

X, Y = data(60, seed=21)
KINDS = [
    (fc.LogOpinionPool, "sequence"),
    (fc.LogOpinionPool, "position"),
    (fc.LinearOpinionPool, "sequence"),
    (fc.LinearOpinionPool, "position"),
]


@pytest.fixture(scope="module")
def members() -> list[fc.ChainCRF]:
    return [trained(0, 0.1), trained(1, 10.0), trained(2, 1000.0, n=6)]


def total(kind: Any, per: str, members: Any, weights: Any) -> float:
    """The summed log-likelihood of a pool with these weights."""
    pool = kind(members, weights=list(weights), per=per)
    return float(pool.log_probability(X, Y).sum())


@pytest.mark.parametrize(("kind", "per"), KINDS)
def test_likelihood_is_best_on_the_simplex(kind: Any, per: str, members: Any) -> None:
    pool = kind(members, weights="likelihood", per=per).fit(X, Y)
    found = pool.pool_weights_
    assert found.sum() == pytest.approx(1.0)
    assert np.all(found >= 0)
    best = total(kind, per, members, found)
    steps = 10
    grid = [w for w in product(range(steps + 1), repeat=3) if sum(w) == steps]
    assert best >= max(total(kind, per, members, np.array(w) / steps) for w in grid[::3]) - 1e-6
    for i, j in product(range(3), repeat=2):  # no share can be moved with profit
        step = 1e-4
        moved = found.copy()
        moved[i] += step
        moved[j] -= step
        if i != j and moved[j] >= 0:
            assert total(kind, per, members, moved / moved.sum()) <= best + 1e-7


def test_the_gradient_is_exact(members: Any) -> None:
    pool = fc.LogOpinionPool(members)
    combined = pool._side_by_side()
    objective = sequence_likelihood(combined, pool._held_out(combined, X, Y), 1)
    at, step = np.array([0.2, 0.5, 0.3]), 1e-5
    value, gradient = objective(at)
    assert value == pytest.approx(total(fc.LogOpinionPool, "sequence", members, at), rel=1e-12)
    for i in range(3):
        away = np.eye(3)[i] * step
        slope = (objective(at + away)[0] - objective(at - away)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6)


def test_a_dirichlet_prior_pulls_to_the_middle(members: Any) -> None:
    plain, some, much = (
        fc.LogOpinionPool(members, weights="likelihood", dirichlet=alpha).fit(X, Y).pool_weights_
        for alpha in (None, 5.0, 1e5)
    )
    np.testing.assert_allclose(much, 1 / 3, atol=1e-3)
    middle = [np.abs(w - 1 / 3).sum() for w in (plain, some, much)]
    assert middle[0] > middle[1] > middle[2]
    objective = fc.LogOpinionPool(members, weights="likelihood", dirichlet=[1.0, 50.0, 1.0]).fit(X, Y)
    assert objective.pool_weights_[1] > plain[1]


def test_dirichlet_stationarity() -> None:
    """Without data the mode of the prior is found: (alpha - 1) / sum(alpha - 1)."""
    alpha = np.array([2.0, 3.0, 6.0])
    found = most_likely(lambda v: (0.0, np.zeros(3)), 3, alpha)
    np.testing.assert_allclose(found, (alpha - 1) / (alpha - 1).sum(), atol=1e-6)


def test_unconstrained_likelihood_is_stationary(members: Any) -> None:
    pool = fc.LogOpinionPool(members, weights="likelihood", unconstrained=True).fit(X, Y)
    combined = pool._side_by_side()
    objective = sequence_likelihood(combined, pool._held_out(combined, X, Y), 1)
    value, gradient = objective(pool.pool_weights_)
    assert np.abs(gradient).max() < 1e-4 * abs(value)
    assert (
        value >= fc.LogOpinionPool(members, weights="likelihood").fit(X, Y).log_probability(X, Y).sum() - 1e-6
    )


@pytest.mark.parametrize(("kind", "per"), KINDS)
def test_held_out_weights_score_no_worse(kind: Any, per: str, members: Any) -> None:
    uniform = kind(members, per=per, metric="token_accuracy")
    found = kind(members, per=per, weights="held_out", metric="token_accuracy").fit(X, Y, X_dev=X, y_dev=Y)
    assert found.score(X, Y) >= uniform.score(X, Y)
    assert found.pool_weights_.sum() == pytest.approx(1.0)


def test_coordinate_search_finds_a_smooth_maximum() -> None:
    target = np.array([0.62, 0.28, 0.1])
    found = best_scored(lambda v: -float(((v - target) ** 2).sum()), 3)
    np.testing.assert_allclose(found, target, atol=0.02)
    two = best_scored(lambda v: -abs(v[0] - 0.37), 2)
    np.testing.assert_allclose(two, [0.37, 0.63])
    np.testing.assert_allclose(best_scored(lambda v: 0.0, 2), [0.5, 0.5])  # of equal scores the most even


def test_weigh_changes_weights_only(members: Any) -> None:
    pool = fc.LogOpinionPool(members).weigh(X, Y)
    assert pool.weights == pool.pool_weights_.tolist()
    expected = fc.LogOpinionPool(members, weights="likelihood").fit(X, Y)
    np.testing.assert_allclose(pool.pool_weights_, expected.pool_weights_, atol=1e-9)
    pool.weigh(X, Y, by="metric")
    assert len(pool.members_) == 3


@pytest.mark.parametrize(("n", "method"), [(2, "golden"), (2, "grid"), (3, "grid"), (3, "optuna")])
def test_tune_searches_the_simplex(members: Any, n: int, method: str) -> None:
    if method == "optuna":
        pytest.importorskip("optuna")
    pool = fc.LogOpinionPool(members[:n], metric="token_accuracy")
    default = "golden" if n == 2 else "grid"
    chosen = None if method == default else method
    result = fc.tune(pool, X_dev=X, y_dev=Y, over={"weights": fc.Simplex()}, method=chosen, points=12)
    assert result.method == method
    assert len(result.rows) >= 10
    assert isinstance(result.model, fc.LogOpinionPool)
    assert result.model.score(X, Y) == result.best.score == max(row.score for row in result.rows)
    assert pool.pool_weights_.tolist() == [1 / n] * n  # the argument is not changed
    assert "weights=" in str(result)


def test_grid_covers_the_simplex() -> None:
    walk = WALKS["grid"](3, 15, 0)
    points = [next(walk)]
    while True:
        try:
            points.append(walk.send(0.0))
        except StopIteration:
            break
    assert 10 <= len(points) <= 16
    assert len({tuple(p.round(9)) for p in points}) == len(points)
    assert all(abs(p.sum() - 1) < 1e-12 and p.min() >= 0 for p in points)


def test_tune_trains_a_pool_first() -> None:
    crf = fc.ChainCRF(n_jobs=1)
    pool = fc.LogOpinionPool(fc.experts.bagged(crf, 2))
    result = fc.tune(pool, X, Y, X_dev=X, y_dev=Y, over={"weights": fc.Simplex()}, points=4)
    assert result.model is not None
    assert not hasattr(pool, "_parameters")


def test_bad_weights(members: Any) -> None:
    for weights, message in [
        ([0.5, 0.4, 0.2], "must sum to one, not to 1.1"),
        ([1.5, -0.5, 0.0], "must not be negative"),
        ([1.0, 0.0], "each of the 3 members"),
        ([1.0, float("nan"), 0.0], "finite"),
        ("a lot", "uniform, likelihood, held_out"),
        ([[1.0], [0.0], [0.0]], "each of the 3 members"),
    ]:
        with pytest.raises(InputError, match=message):
            fc.LogOpinionPool(members, weights=weights).predict(X)
    with pytest.raises(InputError, match="all 1"):
        fc.LogOpinionPool(members, weights=[1.0, 0.0, 0.0], product=True).predict(X)
    with pytest.raises(InputError, match="pass X_dev"):
        fc.LogOpinionPool(members, weights="held_out").fit(X, Y)
    with pytest.raises(InputError, match="below 1"):
        fc.LogOpinionPool(members, weights="likelihood", dirichlet=0.5).fit(X, Y)
    with pytest.raises(InputError, match="sequence 0, token 0: the members do not know the label 'Z'"):
        fc.LogOpinionPool(members, weights="likelihood").fit([X[0][:1]], [["Z"]])
    with pytest.raises(InputError, match="choose one of"):
        fc.LogOpinionPool(members).weigh(X, Y, by="luck")
    with pytest.raises(InputError, match="fc.Simplex"):
        fc.tune(fc.LogOpinionPool(members), X_dev=X, y_dev=Y, over={"variance": [1.0]})
    with pytest.raises(InputError, match="one weight, and the pool has 3"):
        fc.tune(fc.LogOpinionPool(members), X_dev=X, y_dev=Y, over={"weights": fc.Simplex()}, method="golden")
    assert resolve_dirichlet(None, 2).tolist() == [1.0, 1.0]
