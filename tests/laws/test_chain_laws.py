"""What must hold of every chain, without asking what the numbers are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import (
    CASES,
    NUMERICS,
    Batch,
    Case,
    Floats,
    answers_of,
    batch_of,
    named,
    pack,
    same,
)

table = pytest.mark.parametrize("case", CASES, ids=str)
FREE = [case for case in CASES if not case.forbidden]
H = 2e-3  # leaves 1e-12 of rounding and 1e-12 of curvature
STEPS = ((2, -1.0), (1, 8.0), (-1, -8.0), (-2, 1.0))  # fourth-order central difference, over 12 h


def count_labelings(batch: Batch, length: int) -> int:
    """Walks of the state space, counted in whole numbers."""
    ways = [int(start) for start in batch.starts]
    steps = list(zip(batch.sources.tolist(), batch.targets.tolist()))
    for _ in range(length - 1):
        ways = [sum(ways[a] for a, b in steps if b == y) for y in range(len(ways))]
    return sum(n for n, stop in zip(ways, batch.stops) if stop)


@table
def test_zero_potentials_count_the_labelings(case: Case) -> None:
    batch = batch_of(case)
    zero = replace(batch, node=np.zeros_like(batch.node), edge=np.zeros_like(batch.edge))
    counts = [count_labelings(zero, n) if n else 1 for n in zero.lengths]
    for numerics in NUMERICS:
        with named(numerics):
            values = chain.log_partition(*zero.inputs, numerics=numerics)
            same(np.exp(values), np.array(counts, dtype=float))


@pytest.mark.parametrize("case", [case for case in FREE if case.n_states < 5], ids=str)
def test_marginals_are_the_gradient(case: Case) -> None:
    """Of every node and every edge potential of a sequence of four, by fourth-order differences."""
    one = batch_of(case).per_token().sequence(LENGTH_FOUR)
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*one.inputs, numerics=numerics)
            for part in ("node", "edge"):
                potentials: Floats = getattr(one, part)
                gradient = np.zeros_like(potentials)
                for steps, factor in STEPS:
                    moved = [replace(one, **{part: nudged}) for nudged in nudges(potentials, steps * H)]
                    values = chain.log_partition(*pack(moved).inputs, numerics=numerics)
                    gradient += factor * values.reshape(potentials.shape) / (12 * H)
                same(getattr(found, part), gradient, abs=1e-9)


LENGTH_FOUR = 6  # the place of the sequence of length four in every batch of the table


def nudges(potentials: Floats, step: float) -> list[Floats]:
    """A copy of the potentials for each element, with that element moved."""
    copies = np.repeat(potentials[None], potentials.size, axis=0)
    flat = copies.reshape(potentials.size, -1)
    flat[np.arange(potentials.size), np.arange(potentials.size)] += step
    return list(copies)


@pytest.mark.parametrize("case", [case for case in FREE if case.shared], ids=str)
def test_edge_totals_are_the_gradient_of_shared_potentials(case: Case) -> None:
    batch = batch_of(case)
    gradient = np.zeros(len(batch.edge))
    for steps, factor in STEPS:
        for e, edge in enumerate(nudges(batch.edge, steps * H)):
            values = chain.log_partition(*replace(batch, edge=edge).inputs)
            gradient[e] += factor * values.sum() / (12 * H)
    same(chain.marginals(*batch.inputs, edge_totals=True).edge, gradient, abs=1e-9)


@table
def test_marginals_sum_to_one_and_agree_on_overlaps(case: Case) -> None:
    batch = batch_of(case)
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*batch.inputs, numerics=numerics)
            same(found.node.sum(axis=1), np.ones(len(found.node)))
            inner = np.ones(len(found.node), dtype=bool)  # tokens that have one before them
            inner[batch.offsets[:-1][np.diff(batch.offsets) > 0]] = False
            leaving, entering = np.zeros_like(found.node), np.zeros_like(found.node)
            np.add.at(leaving.T, batch.sources, found.edge.T)
            np.add.at(entering.T, batch.targets, found.edge.T)
            same(entering[inner], found.node[inner])
            same(leaving[inner], found.node[:-1][inner[1:]])
            assert not found.edge[~inner].any()


@table
def test_the_best_score_is_at_most_log_partition(case: Case) -> None:
    batch = batch_of(case)
    _, values = chain.argmax(*batch.inputs)
    for numerics in NUMERICS:
        with named(numerics):
            totals = chain.log_partition(*batch.inputs, numerics=numerics)
            assert (values <= totals + 1e-12 * np.abs(totals)).all()
            certain = np.array([len(best) == 1 for best in answers_of(case).best])
            same(values[certain], totals[certain])


@table
def test_a_constant_shifts_log_partition(case: Case) -> None:
    """And leaves the marginals alone: 0.75 on every node, -2 on every edge."""
    batch = batch_of(case)
    moved = replace(batch, node=batch.node + 0.75, edge=batch.edge - 2.0)
    for numerics in NUMERICS:
        with named(numerics):
            before = chain.marginals(*batch.inputs, numerics=numerics)
            after = chain.marginals(*moved.inputs, numerics=numerics)
            lengths = np.array(batch.lengths)
            shift = 0.75 * lengths - 2.0 * np.maximum(lengths - 1, 0)
            same(after.log_partition, before.log_partition + shift, rel=1e-12)
            same(after.node, before.node)
            same(after.edge, before.edge)


@table
def test_minus_infinity_forbids_exactly(case: Case) -> None:
    batch = batch_of(case).per_token()
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*batch.inputs, numerics=numerics)
            assert not found.node[np.isneginf(batch.node)].any()
            assert not found.edge[np.isneginf(batch.edge)].any()
            states, _ = chain.argmax(*batch.inputs)
            assert np.isfinite(batch.node[np.arange(len(states)), states]).all()


@pytest.mark.parametrize("case", [case for case in CASES if case.sparse], ids=str)
def test_a_missing_transition_is_one_at_minus_infinity(case: Case) -> None:
    """The sparse state space = all transitions, the missing ones and the ends forbidden by -inf."""
    sparse = batch_of(case)
    n = case.n_states
    where = sparse.sources * n + sparse.targets
    edge = np.full((*sparse.edge.shape[:-1], n * n), -np.inf)
    edge[..., where] = sparse.edge
    node = sparse.node.copy()
    some = np.diff(sparse.offsets) > 0
    node[np.ix_(sparse.offsets[:-1][some], ~sparse.starts)] = -np.inf
    node[np.ix_(sparse.offsets[1:][some] - 1, ~sparse.stops)] = -np.inf
    sources, targets = np.divmod(np.arange(n * n, dtype=np.int32), np.int32(n))
    every = np.ones(n, dtype=bool)
    plain = Batch(node, edge, sparse.offsets, sources, targets, every, every)
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*plain.inputs, numerics=numerics)
            expected = chain.marginals(*sparse.inputs, numerics=numerics)
            same(found.log_partition, expected.log_partition)
            same(found.node, expected.node)
            same(found.edge[:, where], expected.edge)
            assert np.array_equal(chain.argmax(*plain.inputs)[0], chain.argmax(*sparse.inputs)[0])


def test_inputs_are_left_as_they_were() -> None:
    batch = batch_of(Case(4, False, True, True))
    node, edge = batch.node.copy(), batch.edge.copy()
    chain.marginals(*batch.inputs)
    chain.argmax(*batch.inputs)
    chain.k_best(*batch.inputs, 3)
    chain.sample(*batch.inputs, 3, seed=0)
    assert np.array_equal(batch.node, node)
    assert np.array_equal(batch.edge, edge)
