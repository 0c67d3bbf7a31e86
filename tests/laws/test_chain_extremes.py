"""Chains at the edge: large weights, long memories, many states, very long sequences.

Scaled recursions divide every position by its own size. They go wrong silently when a state that is
hopeless up to here (below 1e-308 of its neighbour, flushed to zero) is the only good one later on;
`auto` must notice and fall back on log space.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.errors import FieldcraftError
from fieldcraft.structures import chain
from laws.cases import CASES, NUMERICS, Batch, Case, batch_of, draw, enumerate_all, offsets_of, same
from oracles import chain_reference as reference

SAFE = ("auto", "log")
DOUBLE = [case for case in CASES if case.n_states in (2, 4)]


def check_enumerated(batch: Batch, numerics: str, *, abs: float = 1e-9) -> None:
    """log Z, marginals and the best score against enumeration."""
    answers = enumerate_all(batch)
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(chain.log_partition(*batch.inputs, numerics=numerics), answers.log_partition)
    same(found.log_partition, answers.log_partition)
    same(found.node, answers.node, abs=abs)
    same(found.edge, answers.edge, abs=abs)
    same(chain.argmax(*batch.inputs)[1], [best[0][1] for best in answers.best])


@pytest.mark.parametrize("case", DOUBLE, ids=str)
@pytest.mark.parametrize("numerics", SAFE)
@pytest.mark.parametrize("scale", [50.0, 250.0, 2500.0, 5e4])
def test_large_weights(case: Case, numerics: str, scale: float) -> None:
    """Weights of +-100, +-500, +-5,000 and +-100,000."""
    batch = batch_of(case)
    check_enumerated(replace(batch, node=batch.node * scale, edge=batch.edge * scale), numerics)


@pytest.mark.parametrize("case", DOUBLE, ids=str)
@pytest.mark.parametrize("numerics", SAFE)
def test_absurd_weights_stay_numbers(case: Case, numerics: str) -> None:
    """At 1e12 a score has four decimals left, and so have the marginals."""
    batch = batch_of(case)
    batch = replace(batch, node=batch.node * 1e12, edge=batch.edge * 1e12)
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(found.log_partition, enumerate_all(batch).log_partition)
    same(found.node.sum(axis=1), np.ones(len(found.node)), abs=1e-2)


@pytest.mark.parametrize("scale", [250.0, 5e4])
def test_scaled_alone_gives_numbers_or_refuses(scale: float) -> None:
    """Without the rescue an answer may be impossible, but never NaN."""
    for case in DOUBLE:
        batch = batch_of(case)
        batch = replace(batch, node=batch.node * scale, edge=batch.edge * scale)
        try:
            found = chain.marginals(*batch.inputs, numerics="scaled")
        except FieldcraftError:
            continue
        assert not any(np.isnan(part).any() for part in found)


def two_states(node: object, edge: object) -> Batch:
    """A sequence over two states with all four transitions."""
    rows = np.array(node, dtype=float)
    ends = np.divmod(np.arange(4, dtype=np.int32), np.int32(2))
    every = np.ones(2, dtype=bool)
    return Batch(rows, np.array(edge, dtype=float), offsets_of([len(rows)]), *ends, every, every)


@pytest.mark.parametrize("numerics", SAFE)
@pytest.mark.parametrize("apart", [-np.inf, -5000.0, -40.0])
@pytest.mark.parametrize("gap", [20.0, 100.0, 240.0, 300.0, 400.0, 450.0, 490.0, 760.0, 1500.0])
def test_a_hopeless_state_may_win_later(gap: float, apart: float, numerics: str) -> None:
    """Three tokens prefer state 0 by the gap, three prefer state 1; nothing leads across: a tie."""
    batch = two_states([[0, -gap]] * 3 + [[-gap, 0]] * 3, [0.0, apart, apart, 0.0])
    check_enumerated(batch, numerics)
    uneven = replace(batch, node=batch.node + np.array([0.0, 0.25]))
    check_enumerated(uneven, numerics)


@pytest.mark.parametrize("numerics", SAFE)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("steep", "gentle"),
    [((400.0, 2), (100.0, 8)), ((450.0, 2), (90.0, 10)), ((249.0, 4), (83.0, 12))],
)
def test_lost_steeply_and_won_back_gently(
    steep: tuple[float, int], gentle: tuple[float, int], turned: bool, numerics: str
) -> None:
    """The loss skips the range where numbers look small, the gain never makes a small sum."""
    node = [[0.0, -steep[0]]] * steep[1] + [[-gentle[0], 0.0]] * gentle[1]
    batch = two_states(node[::-1] if turned else node, [0.0, -np.inf, -np.inf, 0.0])
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(found.log_partition, [np.log(2.0) - steep[0] * steep[1]])
    same(found.node, np.full((len(node), 2), 0.5))


@pytest.mark.parametrize("numerics", SAFE)
@pytest.mark.parametrize("backwards", [False, True])
def test_a_dead_end_after_the_better_prefix(backwards: bool, numerics: str) -> None:
    """Gaps around the smallest numbers of the scaled recursion: 1e-308 normal, 5e-324 at all."""
    for before in (600.0, 700.0, 708.0, 710.0, 730.0, 744.0, 746.0, 800.0):
        for after in (600.0, 700.0, 709.0, 720.0, 740.0, 745.0, 750.0, 800.0):
            node, edge = np.array([[0, -before], [0, 0], [0, 1.0]]), [-after, -after - 1, 0, 0.5]
            if backwards:
                node, edge = node[::-1].copy(), list(np.reshape(edge, (2, 2)).T.ravel())
            check_enumerated(two_states(node, edge), numerics)


@pytest.mark.parametrize("numerics", SAFE)
@pytest.mark.parametrize("half", [100, 400, 1000])
def test_small_weights_with_a_long_memory(half: int, numerics: str) -> None:
    """Ordinary weights of 1 do the same over enough tokens when states may not change."""
    batch = two_states([[1.0, 0.0]] * half + [[0.0, 1.0]] * half, [0.0, -np.inf, -np.inf, 0.0])
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(found.log_partition, [half + np.log(2.0)])
    same(found.node, np.full((2 * half, 2), 0.5))
    same(found.edge[1:], np.tile([0.5, 0.0, 0.0, 0.5], (2 * half - 1, 1)))


def only_state_one(gap: float, length: int, end: str) -> Batch:
    """State 0 is better by the gap at every token, but may not start (or stop)."""
    batch = two_states([[gap, 0.0]] * length, [0.0, -np.inf, -np.inf, 0.5])
    return replace(batch, **{end: np.array([False, True])})


one_left = pytest.mark.parametrize(("gap", "length"), [(1.0, 2000), (20.0, 60), (300.0, 6), (900.0, 4)])
either_end = pytest.mark.parametrize("end", ["starts", "stops"])


@one_left
@either_end
@pytest.mark.parametrize("numerics", SAFE)
def test_the_better_state_cannot_be_had(gap: float, length: int, end: str, numerics: str) -> None:
    """Nothing leads across, so 1 is left. The sums of 0 grow, to where 0 times infinity is NaN."""
    batch = only_state_one(gap, length, end)
    found = chain.marginals(*batch.inputs, numerics=numerics)
    same(found.log_partition, [0.5 * (length - 1)])
    same(found.node, np.tile([0.0, 1.0], (length, 1)))
    same(found.edge[1:], np.tile([0.0, 0.0, 0.0, 1.0], (length - 1, 1)))


@one_left
@either_end
def test_what_cannot_be_had_is_never_drawn(gap: float, length: int, end: str) -> None:
    batch = only_state_one(gap, length, end)
    assert (chain.sample(*batch.inputs, 3, seed=0)[0] == 1).all()
    assert (chain.argmax(*batch.inputs)[0] == 1).all()
    same(chain.entropy(*batch.inputs), [0.0], abs=1e-9)


@pytest.mark.parametrize("numerics", SAFE)
def test_a_rescue_touches_only_its_own_sequence(numerics: str) -> None:
    """Mild sequences beside a wild one keep every bit they have without it."""
    rng = np.random.default_rng(4)
    mild = draw(rng, 4, [5, 7, 3, 6], shared=False)
    wild = replace(mild, node=mild.node.copy())
    wild.node[5:12] *= 300.0
    before = chain.marginals(*mild.inputs, numerics=numerics)
    after = chain.marginals(*wild.inputs, numerics=numerics)
    others = np.r_[0:5, 12:21]
    assert np.array_equal(before.node[others], after.node[others])
    assert np.array_equal(before.edge[others], after.edge[others])
    assert np.array_equal(before.log_partition[[0, 2, 3]], after.log_partition[[0, 2, 3]])


def check_reference(batch: Batch, numerics: str) -> None:
    """Every answer against the log-space reference."""
    found = chain.marginals(*batch.inputs, numerics=numerics)
    totals = chain.log_partition(*batch.inputs, numerics=numerics)
    states, values = chain.argmax(*batch.inputs)
    scores = chain.score(*batch.inputs, states)
    entropies = chain.entropy(*batch.inputs)
    for i in range(len(batch.lengths)):
        dense, rows = batch.reference(i), batch.rows(i)
        nodes, edges = reference.marginals(dense)
        path, value = reference.argmax(dense)
        same(found.node[rows], nodes)
        same(found.edge[rows], edges)
        same(totals[i], reference.log_partition(dense))
        same(found.log_partition[i], reference.log_partition(dense))
        assert np.array_equal(states[rows], path)
        same([values[i], scores[i]], [value, value])
        same(entropies[i], reference.entropy(dense))


@pytest.mark.parametrize("n_states", [8, 9, 16, 22, 44, 65, 130])
@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("kind", ["shared", "tokens", "sparse", "forbidden"])
def test_many_states(n_states: int, numerics: str, kind: str) -> None:
    """Counts on, before and after the width of vector registers."""
    rng = np.random.default_rng(n_states)
    options = {"sparse": kind == "sparse", "forbidden": kind == "forbidden"}
    lengths = [1, 2, 0, 7, 3]
    check_reference(draw(rng, n_states, lengths, shared=kind != "tokens", **options), numerics)


@pytest.mark.parametrize("n_states", [22, 130])
def test_many_states_in_single_precision(n_states: int) -> None:
    rng = np.random.default_rng(n_states)
    check_reference(draw(rng, n_states, [4, 9], dtype="f4"), "auto")


@pytest.mark.parametrize("n_states", [22, 65])
@pytest.mark.parametrize("numerics", SAFE)
def test_many_states_with_large_weights(n_states: int, numerics: str) -> None:
    rng = np.random.default_rng(n_states)
    batch = draw(rng, n_states, [5, 1, 8], shared=False, scale=500.0)
    found = chain.marginals(*batch.inputs, numerics=numerics)
    for i in range(3):
        nodes, edges = reference.marginals(batch.reference(i))
        same(found.node[batch.rows(i)], nodes, abs=1e-9)
        same(found.edge[batch.rows(i)], edges, abs=1e-9)


@pytest.mark.parametrize("length", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_long_sequence(length: int) -> None:
    """No drift and no underflow. A sum of 100,000 steps keeps 1e-9 relative and absolute in p."""
    rng = np.random.default_rng(0)
    batch = draw(rng, 3, [length], scale=1.5)
    alpha, taken = reference.forward(batch.reference(0))
    nodes, edges = reference.marginals(batch.reference(0), alpha)
    path, value = reference.argmax(batch.reference(0))
    for numerics in NUMERICS:
        found = chain.marginals(*batch.inputs, numerics=numerics)
        same(found.log_partition, [math.fsum(taken)])
        same(found.node, nodes, abs=1e-9)
        same(found.edge, edges, abs=1e-9)
        totals = chain.marginals(*batch.inputs, numerics=numerics, edge_totals=True)
        same(totals.edge, edges.sum(axis=0))
    states, values = chain.argmax(*batch.inputs)
    assert np.array_equal(states, path)
    same(values, [value])
    ((paths, scores),) = chain.k_best(*batch.inputs, 3)
    assert np.array_equal(paths[0], path)
    assert (np.diff(scores) <= 0).all()
    assert chain.sample(*batch.inputs, 2, seed=1)[0].shape == (2, length)
