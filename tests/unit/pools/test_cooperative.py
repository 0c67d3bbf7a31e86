"""Co-operative training: its value by enumeration, its gradient by differences, its end by others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pool_cases import LABELS, data, table, trained

import fieldcraft as fc
from fieldcraft.pools.ambiguity_penalties import resolve_penalty
from fieldcraft.pools.combining import combine
from fieldcraft.pools.cooperative import CooperativePool
from fieldcraft.pools.cooperative_problem import Cooperative
from fieldcraft.pools.cooperative_problem import LikelihoodFunction as Function
from oracles import pools as oracle

X, Y = data(10, seed=3)
X = [sequence[:3] for sequence in X]
Y = [labels[:3] for labels in Y]
TIGHT = fc.LBFGS(max_iterations=3000, tolerance=1e-10, objective_tolerance=0.0)
CRF = fc.ChainCRF(labels=LABELS, edge_prefix="edge:", n_jobs=1, optimiser=TIGHT)
PENALTIES = ["inverse", "inverse_square", fc.PreferredDiversity(0.7, strength=3.0)]


class Smallest:
    """A smooth minimum of the likelihoods, times 1 + the first member's weight."""

    def value(self, likelihoods: Any, weights: Any) -> float:
        return float(-np.log(np.exp(-likelihoods).sum()) * (1 + weights[0]))

    def derivatives(self, likelihoods: Any, weights: Any) -> Any:
        shares = np.exp(-likelihoods) / np.exp(-likelihoods).sum()
        first = np.zeros(len(weights))
        first[0] = -np.log(np.exp(-likelihoods).sum())
        return shares * (1 + weights[0]), first


def problem_of(pool: CooperativePool, members: list[Any], weights: Any, sample: Any = None) -> Cooperative:
    combined = combine(members, [str(i) for i in range(len(members))])
    design = pool._design(combined, X, Y)
    return pool._problem(combined, design, members, np.array(weights), sample)


def members() -> list[fc.ChainCRF]:
    return [trained(seed, variance) for seed, variance in ((0, 1.0), (0, 30.0))]


def expected(models: list[Any], v: Any, penalty: Any, gamma: float, function: Any, counts: Any) -> float:
    """-N (g(L) - gamma f(A)) with every distribution written down."""
    total = math.fsum(counts)
    likelihoods, ambiguities = [], []
    for tokens, gold, count in zip(X, Y, counts):
        each = [oracle.distribution(table(model), tokens, LABELS) for model in models]
        pooled = oracle.log_pool(each, v)
        likelihoods.append([count * math.log(p[tuple(gold)]) for p in each])
        ambiguities.append(count * math.fsum(w * oracle.divergence(pooled, p) for w, p in zip(v, each)))
    means = [math.fsum(column) / total for column in zip(*likelihoods)]
    ambiguity = math.fsum(ambiguities) / total
    good = function.value(np.array(means), np.array(v))
    return float(-total * (good - gamma * resolve_penalty(penalty).value(ambiguity)))


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("weighted", [False, True, Smallest()], ids=["sum", "weighted", "own"])
@pytest.mark.parametrize("weigh", [False, True])
def test_value_by_enumeration(penalty: Any, weighted: Any, weigh: bool) -> None:
    from fieldcraft.pools.cooperative import _function

    counts = [1.0 + i % 3 for i in range(len(X))] if weigh else [1.0] * len(X)
    models, v, gamma = members(), [0.3, 0.7], 0.4
    pool = CooperativePool(
        {str(i): model for i, model in enumerate(models)},
        gamma=gamma, penalty=penalty, weighted=weighted, prior=None, n_jobs=1,
    )  # fmt: skip
    problem = problem_of(pool, models, v, counts if weigh else None)
    combined = combine(models, ["0", "1"])
    start = np.concatenate([combined.weights[i, own] for i, own in enumerate(problem.rows)])
    value = problem.value_and_gradient(start, np.empty(problem.n_variables))
    wanted = expected(models, v, penalty, gamma, _function(weighted), counts)
    assert value == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("weighted", [False, True, Smallest()], ids=["sum", "weighted", "own"])
@pytest.mark.parametrize("train_weights", [False, True])
@pytest.mark.parametrize("prior", ["own", fc.Hyperbolic(scale=0.5)], ids=["own", "hyperbolic"])
def test_gradient_by_differences(penalty: Any, weighted: Function, train_weights: bool, prior: Any) -> None:
    """Every element, with and without trained weights of the pool."""
    models = members()
    pool = CooperativePool(
        {str(i): model for i, model in enumerate(models)},
        gamma=0.4, penalty=penalty, weighted=weighted, train_weights=train_weights, prior=prior, n_jobs=1,
    )  # fmt: skip
    problem = problem_of(pool, models, [0.3, 0.7])
    rng = np.random.default_rng(5)
    at = rng.normal(size=problem.n_variables)
    gradient, waste = np.empty_like(at), np.empty_like(at)
    problem.value_and_gradient(at, gradient)
    step = 1e-5
    differences = []
    for i in range(len(at)):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[i] += sign * step
            ends.append(problem.value_and_gradient(moved, waste))
        differences.append((ends[0] - ends[1]) / (2 * step))
    # central differences of a value of about 100: an error of 1e-14 * 100 / 1e-5, and step^2
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=2e-7)


def test_without_gamma_members_are_those_of_their_own_trainings() -> None:
    experts = fc.experts.random(CRF, 2, full=True)
    alone = fc.LogOpinionPool(experts).fit(X, Y)
    together = CooperativePool(experts, gamma=0, prime=False, optimiser=TIGHT).fit(X, Y)
    assert together.converged_
    for a, b in zip(alone.members_, together.members_):
        np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-7)


def test_the_identity_holds_in_every_record() -> None:
    pool = CooperativePool(fc.experts.random(CRF, 2), gamma=0.2, train_weights=True, n_jobs=1).fit(X, Y)
    last = pool.training_log_[-1]
    assert len(pool.training_log_) > 3
    result = fc.diversity(pool, X, Y)
    assert last.ambiguity == pytest.approx(result.A, rel=1e-9)
    assert last.pool_weights == pytest.approx(pool.pool_weights_.tolist(), rel=1e-12)
    assert -np.dot(last.likelihoods, last.pool_weights) - last.ambiguity == pytest.approx(result.K, rel=1e-9)


def test_stationary_at_the_end_and_more_diverse_than_alone() -> None:
    experts = fc.experts.random(CRF, 2)
    alone = fc.LogOpinionPool(experts).fit(X, Y)
    pool = CooperativePool(experts, gamma=0.3, optimiser=TIGHT, n_jobs=1).fit(X, Y)
    # the objective is 52, known to 1e-14; so far down its slope is lost in rounding at about 1e-7
    assert pool.training_log_[-1].gradient_norm < 5e-7
    assert fc.diversity(pool, X).A > fc.diversity(alone, X).A


def test_a_preferred_diversity_is_met_where_it_counts_most() -> None:
    pool = CooperativePool(
        fc.experts.random(CRF, 2), gamma=1.0, penalty=fc.PreferredDiversity(0.8, strength=1e4), n_jobs=1
    ).fit(X, Y)
    assert pytest.approx(0.8, abs=1e-3) == fc.diversity(pool, X).A  # to where the likelihoods pull


def test_the_objective_is_not_convex() -> None:
    """Two members with equal features change places: half way they are equal, where 1 / A has no value."""
    models = members()
    pool = CooperativePool({"a": models[0], "b": models[1]}, gamma=0.4, prior=None, n_jobs=1)
    problem = problem_of(pool, models, [0.5, 0.5])
    combined = combine(models, ["a", "b"])
    one = np.concatenate([combined.weights[i, own] for i, own in enumerate(problem.rows)])
    other = np.concatenate([combined.weights[1 - i, own] for i, own in enumerate(problem.rows)])
    waste = np.empty_like(one)
    ends = [problem.value_and_gradient(at, waste) for at in (one, other)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    middle = problem.value_and_gradient((one + other) / 2, waste)
    assert middle > 1e6 * max(ends)  # A is zero but for rounding


def test_threads_give_the_same_bits() -> None:
    found = [
        CooperativePool(fc.experts.random(CRF, 2), gamma=0.2, n_jobs=n).fit(X * 20, Y * 20) for n in (1, 3)
    ]
    assert np.array_equal(found[0].weights_, found[1].weights_)


def test_weights_are_searched_before(tmp_path: Any) -> None:
    pool = CooperativePool(fc.experts.random(CRF, 2), gamma=0.1, weights="held_out", n_jobs=1)
    pool.fit(X, Y, X_dev=X, y_dev=Y, keep_best=True)
    assert pool.pool_weights_.sum() == pytest.approx(1.0)
    assert all(record.held_out is not None for record in pool.training_log_)
    pool.save(tmp_path / "pool.fc")
    loaded = fc.load(tmp_path / "pool.fc")
    assert type(loaded) is fc.LogOpinionPool
    np.testing.assert_array_equal(loaded.log_probability(X, Y), pool.log_probability(X, Y))
    assert [m.weights_.tolist() for m in loaded.members_] == [m.weights_.tolist() for m in pool.members_]


def test_trained_members_are_where_training_begins() -> None:
    primed = fc.LogOpinionPool(fc.experts.random(CRF, 2)).fit(X, Y)
    named = dict(zip(primed.member_names_, primed.members_))
    pool = CooperativePool(named, gamma=0.1, prior=fc.Gaussian(variance=10.0), n_jobs=1).fit(X, Y)
    for before, after in zip(primed.members_, pool.members_):
        assert np.array_equal(before.weights_ == 0, after.weights_ == 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": -1.0}, "gamma=-1.0; give a finite number, zero or greater"),
        ({"gamma": math.nan}, "gamma=nan"),
        ({"gamma": "much"}, "gamma='much'"),
        ({"penalty": "square"}, "penalty='square'; give one of inverse, inverse_square"),
        ({"weighted": "yes"}, "weighted='yes'"),
        ({"optimiser": "sgd"}, "needs an optimiser for gradients, not sgd"),
        ({"members": fc.experts.random(CRF, 2)[:1]}, "needs two members or more"),
        ({"weights": [0.5, 0.1, 0.1]}, "must sum to one"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fc.FieldcraftError, match=message.replace("[", r"\[")):
        CooperativePool(**{"members": fc.experts.random(CRF, 2), **arguments}).fit(X, Y)


def test_equal_members_are_refused_by_name() -> None:
    same = trained()
    with pytest.raises(fc.FieldcraftError, match="the members are equal"):
        CooperativePool([same, same]).fit(X, Y)
    CooperativePool([same, same], gamma=0.0).fit(X, Y)


def test_members_with_features_of_their_own_are_refused() -> None:
    others = [trained(0, words="pqrs"), trained(1, words="rstu")]
    with pytest.raises(fc.FieldcraftError, match="feature index of its own"):
        CooperativePool(others).fit(X, Y)


def test_preferred_diversity_is_checked() -> None:
    with pytest.raises(fc.FieldcraftError, match="ambiguity=-1"):
        fc.PreferredDiversity(-1)
