"""A batch is a loop, and nothing is a batch too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import (
    CASES,
    NUMERICS,
    Case,
    batch_of,
    draw,
    named,
    same,
)

table = pytest.mark.parametrize("case", CASES, ids=str)


@table
def test_a_batch_is_a_loop(case: Case) -> None:
    """To 1e-12, tighter than the house rule: only the order of a sum may differ."""
    batch = batch_of(case)
    together = {numerics: chain.marginals(*batch.inputs, numerics=numerics) for numerics in NUMERICS}
    states, values = chain.argmax(*batch.inputs)
    for i in range(len(batch.lengths)):
        alone, rows = batch.sequence(i), batch.rows(i)
        for numerics in NUMERICS:
            single = chain.marginals(*alone.inputs, numerics=numerics)
            same(single.log_partition, together[numerics].log_partition[i : i + 1], rel=1e-12)
            same(single.node, together[numerics].node[rows], rel=1e-12)
            same(single.edge, together[numerics].edge[rows], rel=1e-12)
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
    batch = batch_of(Case(3, False, False, False))
    firsts = batch.offsets[:-1][np.diff(batch.offsets) > 0]
    expected = chain.marginals(*batch.inputs)
    for value in (1e4, -np.inf):
        edge = batch.edge.copy()
        edge[firsts] = value
        found = chain.marginals(*replace(batch, edge=edge).inputs)
        same(found.log_partition, expected.log_partition)
        same(found.node, expected.node)
        same(found.edge, expected.edge)


def test_lengths_zero_and_one() -> None:
    """Nothing has one labelling of score 0; one token is a softmax over states that may be both."""
    rng = np.random.default_rng(7)
    batch = draw(rng, 5, [0, 1, 0, 1, 0], sparse=True)
    alive = batch.starts & batch.stops
    scores = np.exp(np.where(alive, batch.node, -np.inf))
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*batch.inputs, numerics=numerics)
            same(found.log_partition[[0, 2, 4]], np.zeros(3))
            same(found.log_partition[[1, 3]], np.log(scores.sum(axis=1)))
            same(found.node, scores / scores.sum(axis=1, keepdims=True))
            assert not found.edge.any()


def test_batches_of_nothing() -> None:
    rng = np.random.default_rng(8)
    for numerics in NUMERICS:
        with named(numerics):
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
                assert chain.score(*batch.inputs, np.zeros(0, dtype=np.int32)).tolist() == [0.0] * len(
                    lengths
                )
