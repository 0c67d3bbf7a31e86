"""A pool's distribution equals the one that enumeration defines, on every labelling of small cases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from pool_cases import LABELS, data, table, trained

import fieldcraft as fc
from oracles import pools as oracle

X = [sequence for sequence in data(20, seed=9)[0] if len(sequence) < 4][:6]
WEIGHTS = [0.5, 0.3, 0.2]


@pytest.fixture(scope="module")
def members() -> list[fc.ChainCRF]:
    """Models of different data, so of different features; labels in different orders."""
    orders = [LABELS, LABELS[::-1], ("B", "A", "C")]
    words = ["pqrs", "rstu", "pqrstu"]
    return [trained(seed, labels=labels, words=w) for seed, labels, w in zip(range(3), orders, words)]


def distributions(members: Sequence[Any], tokens: Any) -> list[oracle.Distribution]:
    return [oracle.distribution(table(member), tokens, LABELS) for member in members]


def assert_equal(pool: Any, tokens: Any, expected: oracle.Distribution) -> None:
    """Every labelling, every marginal, and a span."""
    every = list(product(LABELS, repeat=len(tokens)))
    log_p = pool.log_probability([tokens] * len(every), [list(y) for y in every])
    np.testing.assert_allclose(np.exp(log_p), [expected[y] for y in every], rtol=1e-9, atol=1e-12)
    rows = oracle.marginals(expected, pool.classes_.tolist())
    wanted = [[row[name] for name in pool.classes_] for row in rows]
    np.testing.assert_allclose(pool.predict_proba([tokens])[0], wanted, rtol=1e-9, atol=1e-12)
    span = pool.span_probability([tokens], [[(0, len(tokens), "A")]])[0][0]
    assert span == pytest.approx(expected[("A",) * len(tokens)], rel=1e-9)


@pytest.mark.parametrize("weights", [WEIGHTS, [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
@pytest.mark.parametrize("tokens", X, ids=str)
def test_log_pool_is_the_normalised_product(members: Any, tokens: Any, weights: list[float]) -> None:
    pool = fc.LogOpinionPool(members, weights=weights)
    expected = oracle.log_pool(distributions(members, tokens), weights)
    assert_equal(pool, tokens, expected)
    best = sorted(expected, key=expected.__getitem__, reverse=True)[:3]
    assert [tuple(labels) for labels, _ in pool.k_best([tokens], 3)[0]] == best
    assert pool.entropy([tokens])[0] == pytest.approx(oracle.entropy(expected), rel=1e-9)


@pytest.mark.parametrize("tokens", X[:3], ids=str)
def test_products_and_unconstrained_weights(members: Any, tokens: Any) -> None:
    parts = distributions(members, tokens)
    assert_equal(fc.LogOpinionPool(members, product=True), tokens, oracle.log_pool(parts, [1.0] * 3))
    free = fc.LogOpinionPool(members, weights=[-1.0, 2.0, 0.5], unconstrained=True)
    assert_equal(free, tokens, oracle.log_pool(parts, [-1.0, 2.0, 0.5]))


@pytest.mark.parametrize("tokens", X, ids=str)
def test_linear_pool_is_the_mixture(members: Any, tokens: Any) -> None:
    pool = fc.LinearOpinionPool(members, weights=WEIGHTS)
    expected = oracle.linear_pool(distributions(members, tokens), WEIGHTS)
    assert_equal(pool, tokens, expected)
    rows = oracle.marginals(expected, LABELS)
    assert pool.predict([tokens])[0] == [max(row, key=row.__getitem__) for row in rows]
    decoding = pool.decode([tokens])[0]
    assert not decoding.optimal
    assert decoding.value == pytest.approx(np.log(expected[tuple(decoding.labels)]), rel=1e-9)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("tokens", X[:4], ids=str)
def test_pools_per_position(members: Any, tokens: Any, linear: bool) -> None:
    kind = fc.LinearOpinionPool if linear else fc.LogOpinionPool
    pool = kind(members, weights=WEIGHTS, per="position")
    each = [oracle.marginals(p, LABELS) for p in distributions(members, tokens)]
    combine = oracle.linear_pool if linear else oracle.log_pool
    rows = [combine([{(y,): row[y] for y in LABELS} for row in at], WEIGHTS) for at in zip(*each)]
    expected = oracle.per_position([{y[0]: p for y, p in row.items()} for row in rows])
    assert_equal(pool, tokens, expected)
    assert pool.entropy([tokens])[0] == pytest.approx(oracle.entropy(expected), rel=1e-9)


def test_samples_of_a_mixture_have_its_frequencies(members: Any) -> None:
    tokens = X[0]
    pool = fc.LinearOpinionPool(members, weights=WEIGHTS)
    expected = oracle.linear_pool(distributions(members, tokens), WEIGHTS)
    n = 20_000
    drawn = [tuple(labels) for labels in pool.sample([tokens], n)[0]]
    for y, p in expected.items():  # five standard deviations
        assert abs(drawn.count(y) / n - p) <= 5 * (p * (1 - p) / n) ** 0.5 + 1e-9
    assert pool.sample([tokens], 5) == pool.sample([tokens], 5)


def test_a_pool_of_clones_is_the_clone() -> None:
    crf = trained()
    for pool in (fc.LogOpinionPool([crf, crf, crf]), fc.LinearOpinionPool([crf, crf])):
        for ours, theirs in zip(pool.predict_proba(X), crf.predict_proba(X)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        assert pool.predict(X).tolist() == crf.predict(X).tolist()
    np.testing.assert_allclose(fc.LogOpinionPool([crf, crf]).weights_, crf.weights_, rtol=1e-15)


def test_one_weight_gives_that_member(members: Any) -> None:
    pool = fc.LogOpinionPool(members, weights=[0.0, 1.0, 0.0])
    y = members[1].predict(X).tolist()
    np.testing.assert_allclose(pool.log_probability(X, y), members[1].log_probability(X, y), rtol=1e-9)


# Tables 6.1 and 6.2 of Smith (2007): models A and B over four outcomes, and their pools.
TABLE_6_1 = {"A": [0.97, 0.01, 0.01, 0.01], "B": [0.25, 0.25, 0.25, 0.25]}
TABLE_6_2 = {
    (0.99, 0.01): ["0.9686", "0.0105", "0.0105", "0.0105"],
    (0.5, 0.5): ["0.7665", "0.0778", "0.0778", "0.0778"],
    (0.01, 0.99): ["0.2587", "0.2471", "0.2471", "0.2471"],
    (-1.0, 2.0): ["0.0034", "0.3322", "0.3322", "0.3322"],
    (-4.0, 5.0): ["0.0000", "0.3333", "0.3333", "0.3333"],
}


def model_of(probabilities: list[float]) -> fc.ChainCRF:
    """A chain of one position with these probabilities of the outcomes 1 to 4."""
    outcomes = ["1", "2", "3", "4"]
    crf = fc.ChainCRF(labels=outcomes, optimiser=fc.LBFGS(max_iterations=0))
    crf.fit([[["x"]]] * 4, [[outcome] for outcome in outcomes])
    parameters = crf._parameters
    weights = np.log(np.array(probabilities))[parameters.index.label]
    crf._settle(
        type(parameters).of(parameters.encoder, parameters.index, weights, parameters.structure), outcomes
    )
    return crf


def test_table_6_1() -> None:
    for probabilities in TABLE_6_1.values():
        np.testing.assert_allclose(model_of(probabilities).predict_proba([[["x"]]])[0][0], probabilities)


@pytest.mark.parametrize("weights", TABLE_6_2)
def test_table_6_2(weights: tuple[float, float]) -> None:
    members = [model_of(probabilities) for probabilities in TABLE_6_1.values()]
    pool = fc.LogOpinionPool(members, weights=weights, unconstrained=True)
    shown = [f"{p:.4f}" for p in pool.predict_proba([[["x"]]])[0][0]]
    assert shown == TABLE_6_2[weights]
