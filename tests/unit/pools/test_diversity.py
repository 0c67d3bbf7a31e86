"""The ambiguity decomposition is an identity, and equals enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pool_cases import LABELS, data, table, trained

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.pools import diversity as module
from fieldcraft.pools.samples import Part
from oracles import pools as oracle

X, Y = data(10, seed=8)
WEIGHTS = [0.5, 0.3, 0.2]


@pytest.fixture(scope="module")
def members() -> list[fc.ChainCRF]:
    return [
        trained(seed, variance, words=words)
        for seed, variance, words in ((0, 1.0, "pqrs"), (1, 9.0, "rstu"), (2, 99.0, "pqrstu"))
    ]


@pytest.mark.parametrize("weights", [WEIGHTS, [1.0, 0.0, 0.0]])
def test_the_decomposition_equals_enumeration(members: Any, weights: list[float]) -> None:
    result = fc.diversity(fc.LogOpinionPool(members, weights=weights), X, Y)
    assert result.errors is not None
    assert result.error is not None
    tables = [table(member) for member in members]
    for s, (tokens, labels) in enumerate(zip(X, Y)):
        each = [oracle.distribution(t, tokens, LABELS) for t in tables]
        pool, gold = oracle.log_pool(each, weights), {tuple(labels): 1.0}
        np.testing.assert_allclose(result.error[s], oracle.divergence(gold, pool), atol=1e-9)
        np.testing.assert_allclose(result.errors[:, s], [oracle.divergence(gold, p) for p in each], atol=1e-9)
        expected = [oracle.divergence(pool, p) for p in each]
        np.testing.assert_allclose(result.ambiguities[:, s], expected, atol=1e-9)


def test_the_identity_holds_for_every_sequence(members: Any) -> None:
    result = fc.diversity(fc.LogOpinionPool(members, weights=WEIGHTS), X, Y)
    assert result.errors is not None
    np.testing.assert_allclose(
        result.weights @ result.errors - result.weights @ result.ambiguities, result.error, atol=1e-9
    )
    assert result.E is not None
    assert pytest.approx(result.E - result.A, abs=1e-9) == result.K
    assert (
        pytest.approx(-fc.LogOpinionPool(members, weights=WEIGHTS).log_probability(X, Y).mean()) == result.K
    )
    assert "K =" in str(result)
    assert result.to_dict()["members"][1]["weight"] == 0.3


def test_ambiguity_needs_no_labels(members: Any) -> None:
    pool = fc.LogOpinionPool(members, weights=WEIGHTS)
    bare, whole = fc.diversity(pool, X), fc.diversity(pool, X, Y)
    assert bare.K is None
    assert bare.E is None
    assert whole.A == bare.A > 0
    assert fc.diversity(pool, []).A == 0.0


def test_blocks_do_not_matter(members: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = fc.LogOpinionPool(members, weights=WEIGHTS)
    whole = fc.diversity(pool, X, Y)
    monkeypatch.setattr(module, "CELLS", 9)
    parts = fc.diversity(pool, X, Y)
    np.testing.assert_allclose(parts.ambiguities, whole.ambiguities, rtol=1e-12)


def test_clones_have_no_ambiguity() -> None:
    crf = trained()
    assert pytest.approx(0.0, abs=1e-12) == fc.diversity(fc.LogOpinionPool([crf, crf]), X).A


def test_constraints(members: Any) -> None:
    """Forbidden transitions are no diversity."""
    keep = np.array([0, 1, 3])
    ones = np.ones(2, bool)
    sources, targets = np.array([0, 0, 1, 1])[keep], np.array([0, 1, 0, 1])[keep]
    space = fc.StateSpace(2, sources, targets, ones, ones, np.arange(2), ("A", "B"))
    rows, y = [[["a"], ["b"], ["b"]]], [["A", "B", "B"]]
    pair = [fc.ChainCRF(states=space, prior=fc.Gaussian(variance=v)).fit(rows, y) for v in (1.0, 5.0)]
    result = fc.diversity(fc.LogOpinionPool(pair), rows, y)
    assert result.E is not None
    assert np.isfinite(result.A)
    assert pytest.approx(result.E - result.A, abs=1e-9) == result.K


def test_only_pools_with_a_decomposition(members: Any) -> None:
    with pytest.raises(InputError, match="weights that sum to one"):
        fc.diversity(fc.LogOpinionPool(members, product=True), X)
    for pool in (fc.LinearOpinionPool(members), fc.LogOpinionPool(members, per="position"), members[0]):
        with pytest.raises(InputError, match="logarithmic pools per sequence"):
            fc.diversity(pool, X)


def test_cross_validation_ensemble() -> None:
    X, y = data(45, seed=6)
    model = fc.ChainCRF(labels=LABELS, n_jobs=1)
    result = fc.cross_validation_ensemble(model, X, y, unlabelled=data(30, seed=7)[0], n=3)
    assert len(result.pool.members_) == 3
    for i, (error, member) in enumerate(zip(result.errors, result.pool.members_)):
        left_out = np.flatnonzero(Part(i, 3, 0).counts(len(X))).tolist()
        log_p = member.log_probability([X[j] for j in left_out], [y[j] for j in left_out])
        assert error == pytest.approx(-log_p.mean(), rel=1e-9)
        alone = fc.ChainCRF(labels=LABELS, n_jobs=1)
        others = [j for j in range(len(X)) if j not in left_out]
        alone.fit([X[j] for j in others], [y[j] for j in others])
        np.testing.assert_allclose(member.log_probability(X, y), alone.log_probability(X, y), atol=1e-2)
    assert pytest.approx(np.mean(result.errors) - result.A, rel=1e-12) == result.K
    assert "estimate" in str(result)
    with pytest.raises(InputError, match="number of parts"):
        fc.cross_validation_ensemble(model, X, y, n=1)
