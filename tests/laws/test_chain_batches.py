"""A batch is a loop, threads change nothing, and nothing is a batch too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import (
    CASES,
    JOBS,
    NUMERICS,
    Case,
    batch_of,
    draw,
    same,
)

table = pytest.mark.parametrize("case", CASES, ids=str)
numerics = pytest.mark.parametrize("numerics", NUMERICS)


@table
@numerics
def test_a_batch_is_a_loop(case: Case, numerics: str) -> None:
    """To 1e-12, tighter than the house rule: only the order of a sum may differ."""
    batch = batch_of(case)
    together = chain.marginals(*batch.inputs, numerics=numerics)
    states, values = chain.argmax(*batch.inputs)
    for i in range(len(batch.lengths)):
        alone, rows = batch.sequence(i), batch.rows(i)
        single = chain.marginals(*alone.inputs, numerics=numerics)
        same(single.log_partition, together.log_partition[i : i + 1], rel=1e-12)
        same(single.node, together.node[rows], rel=1e-12)
        same(single.edge, together.edge[rows], rel=1e-12)
        one_states, one_value = chain.argmax(*alone.inputs)
        assert (one_states == states[rows]).all()
        assert one_value[0] == values[i]


@table
def test_shared_edges_are_equal_rows(case: Case) -> None:
    batch = batch_of(case)
    wide = batch.per_token()
    same(chain.log_partition(*wide.inputs), chain.log_partition(*batch.inputs))
    found, expected = chain.marginals(*wide.inputs), chain.marginals(*batch.inputs)
    same(found.node, expected.node)
    same(found.edge, expected.edge)


def test_first_edge_rows_are_ignored() -> None:
    """Whatever finite number or -inf they hold."""
    batch = batch_of(Case(3, False, False, False, "f8"))
    firsts = batch.offsets[:-1][np.diff(batch.offsets) > 0]
    expected = chain.marginals(*batch.inputs)
    for value in (1e4, -np.inf):
        edge = batch.edge.copy()
        edge[firsts] = value
        found = chain.marginals(*replace(batch, edge=edge).inputs)
        same(found.log_partition, expected.log_partition)
        same(found.node, expected.node)
        same(found.edge, expected.edge)


@pytest.mark.parametrize("n_states", [3, 22])
@pytest.mark.parametrize("shared", [True, False])
@numerics
def test_threads_do_not_change_a_bit(n_states: int, shared: bool, numerics: str) -> None:
    rng = np.random.default_rng(n_states)
    batch = draw(rng, n_states, rng.integers(0, 24, size=150), shared=shared)
    for totals in (False, True):
        answers = [
            chain.marginals(*batch.inputs, n_jobs=n, numerics=numerics, edge_totals=totals) for n in JOBS
        ]
        for other in answers[1:]:
            assert all(np.array_equal(a, b) for a, b in zip(answers[0], other))
    values = [chain.log_partition(*batch.inputs, n_jobs=n, numerics=numerics) for n in JOBS]
    assert all(np.array_equal(values[0], other) for other in values[1:])


@pytest.mark.parametrize("n_states", [3, 22])
def test_threads_do_not_change_paths(n_states: int) -> None:
    rng = np.random.default_rng(n_states)
    batch = draw(rng, n_states, rng.integers(0, 24, size=150))
    states, values = chain.argmax(*batch.inputs, n_jobs=1)
    ranked = chain.k_best(*batch.inputs, 4, n_jobs=1)
    for n_jobs in JOBS[1:]:
        other_states, other_values = chain.argmax(*batch.inputs, n_jobs=n_jobs)
        assert np.array_equal(states, other_states)
        assert np.array_equal(values, other_values)
        for a, b in zip(ranked, chain.k_best(*batch.inputs, 4, n_jobs=n_jobs)):
            assert np.array_equal(a[0], b[0])
            assert np.array_equal(a[1], b[1])


@numerics
def test_lengths_zero_and_one(numerics: str) -> None:
    """Nothing has one labelling of score 0; one token is a softmax over states that may be both."""
    rng = np.random.default_rng(7)
    batch = draw(rng, 5, [0, 1, 0, 1, 0], sparse=True)
    alive = batch.starts & batch.stops
    scores = np.exp(np.where(alive, batch.node, -np.inf))
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(found.log_partition[[0, 2, 4]], np.zeros(3))
    same(found.log_partition[[1, 3]], np.log(scores.sum(axis=1)))
    same(found.node, scores / scores.sum(axis=1, keepdims=True))
    assert not found.edge.any()


@numerics
def test_batches_of_nothing(numerics: str) -> None:
    rng = np.random.default_rng(8)
    for lengths in ([], [0], [0, 0, 0]):
        batch = draw(rng, 3, lengths, shared=False)
        found = chain.marginals(*batch.inputs, numerics=numerics)
        assert np.array_equal(found.log_partition, np.zeros(len(lengths)))
        assert (found.node.shape, found.edge.shape) == ((0, 3), (0, 9))
        totals = chain.marginals(*batch.inputs, numerics=numerics, edge_totals=True)
        assert np.array_equal(totals.edge, np.zeros(9))
        states, values = chain.argmax(*batch.inputs)
        assert (states.shape, values.tolist()) == ((0,), [0.0] * len(lengths))
        assert chain.entropy(*batch.inputs).tolist() == [0.0] * len(lengths)
        assert chain.score(*batch.inputs, np.zeros(0, dtype=np.int32)).tolist() == [0.0] * len(lengths)
