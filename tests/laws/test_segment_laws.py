"""Segments: every answer is that of the enumeration, and without segment scores that of a chain."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from fieldcraft.errors import InputError
from fieldcraft.potentials import Parts
from fieldcraft.structures import chain
from fieldcraft.structures.segments import Segments, SegmentSpace
from oracles import segments as oracle

SPACES = {
    "one": (1,),
    "single": (1, 1, 1),
    "mixed": (3, 1, 2),
    "long": (6, 4),
}
NEAR = 1e-9
TOLERANCE: dict[str, Any] = {"rtol": NEAR, "atol": 1e-12}


class Batch(NamedTuple):
    """Potentials of a few sequences, and what the oracle calls them."""

    line: Segments
    potentials: Parts
    lengths: list[int]

    def oracle(self, i: int) -> oracle.SemiMarkov:
        space, at = self.line.space, self.potentials.offsets
        node, segment = self.potentials["node"], self.potentials["segment"]
        edge = np.broadcast_to(self.potentials["edge"], (len(node), space.chain.n_transitions))
        segment = np.broadcast_to(segment, (len(node), space.n_columns))
        square = np.full((len(node), space.n_states, space.n_states), -np.inf)
        square[:, space.chain.sources, space.chain.targets] = edge
        rows = range(at[i], at[i + 1])
        cut = [[tuple(segment[t, a:b]) for a, b in zip(space.column, space.column[1:])] for t in rows]
        longest = tuple(int(n) for n in space.longest)
        as_tuples = tuple(tuple(map(tuple, square[t])) for t in rows)
        return oracle.SemiMarkov(
            tuple(tuple(node[t]) for t in rows), as_tuples, tuple(map(tuple, cut)), longest
        )


def draw(
    longest: tuple[int, ...],
    lengths: list[int],
    seed: int = 0,
    *,
    edge_rows: bool = True,
    segment_rows: bool = True,
    spread: float = 1.0,
    forbid: float = 0.0,
) -> Batch:
    rng = np.random.default_rng(seed)
    space = SegmentSpace([f"t{i}" for i in range(len(longest))], longest)
    n = sum(lengths)

    def scores(*shape: int) -> NDArray[np.float64]:
        drawn = spread * rng.normal(size=shape)
        return np.where(rng.random(shape) < forbid, -np.inf, drawn)

    edges, columns = space.chain.n_transitions, space.n_columns
    edge = scores(n, edges) if edge_rows else scores(edges)
    segment = scores(n, columns) if segment_rows else scores(columns)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Batch(
        Segments(space), Segments.potentials(scores(n, space.n_states), edge, segment, offsets), lengths
    )


def cases() -> list[Any]:
    rows = []
    for name, longest in SPACES.items():
        for edge_rows in (True, False):
            for spread in (1.0, 40.0, 400.0):
                made = draw(
                    longest, [1, 4, 0, 5, 2], edge_rows=edge_rows, segment_rows=edge_rows, spread=spread
                )
                rows.append(pytest.param(made, id=f"{name}-{edge_rows}-{spread:g}"))
    rows.append(pytest.param(draw((3, 2), [5, 4, 3], 2, forbid=0.1), id="forbidden"))
    rows.append(pytest.param(draw((3, 2), [5, 4, 3], 3, forbid=0.1, edge_rows=False), id="forbidden-shared"))
    return rows


table = pytest.mark.parametrize("batch", cases())


def possible(batch: Batch, i: int) -> bool:
    return bool(oracle.scored(batch.oracle(i)))


@table
def test_log_partition(batch: Batch) -> None:
    found = batch.line.log_partition(batch.potentials)
    expected = [oracle.log_partition(batch.oracle(i)) for i in range(len(batch.lengths))]
    np.testing.assert_allclose(found, expected, **TOLERANCE)


@table
def test_marginals_of_every_part(batch: Batch) -> None:
    assert all(possible(batch, i) for i in range(len(batch.lengths)))
    found = batch.line.marginals(batch.potentials)
    space = batch.line.space
    expected = {name: np.zeros_like(found[name]) for name in batch.line.parts}
    place = {
        pair: e for e, pair in enumerate(zip(space.chain.sources.tolist(), space.chain.targets.tolist()))
    }
    for i, at in enumerate(batch.potentials.offsets[:-1]):
        for (part, t, *rest), p in oracle.marginals(batch.oracle(i)).items():
            a, b = rest[0], rest[-1]
            column = a if part == "node" else place[a, b] if part == "edge" else space.column[a] + b - 1
            expected[str(part)][at + t, column] = p
    for name in batch.line.parts:
        np.testing.assert_allclose(found[name], expected[name], rtol=NEAR, atol=1e-13, err_msg=name)


@table
def test_boundaries(batch: Batch) -> None:
    found = batch.line.boundaries(batch.line.marginals(batch.potentials))
    for i in range(len(batch.lengths)):
        np.testing.assert_allclose(found[i], oracle.boundaries(batch.oracle(i)), **TOLERANCE)


@table
def test_best_and_k_best(batch: Batch) -> None:
    states, scores = batch.line.argmax(batch.potentials)
    ranked = batch.line.k_best(batch.potentials, 7)
    for i, (a, b) in enumerate(zip(batch.potentials.offsets, batch.potentials.offsets[1:])):
        expected = oracle.k_best(batch.oracle(i), 7)
        longest = tuple(int(n) for n in batch.line.space.longest)
        spelled = [oracle.states(one, longest) for one, _ in expected]
        assert tuple(states[a:b].tolist()) == spelled[0]
        np.testing.assert_allclose(scores[i], expected[0][1], **TOLERANCE)
        paths, values = ranked[i]
        assert [tuple(path) for path in paths.tolist()] == spelled
        np.testing.assert_allclose(values, [value for _, value in expected], **TOLERANCE)


@table
def test_scores_and_indicators(batch: Batch) -> None:
    """Also of segmentations that are not the best; longer segments than allowed have no score."""
    for i, (a, b) in enumerate(zip(batch.potentials.offsets, batch.potentials.offsets[1:])):
        one, offsets = oracle.scored(batch.oracle(i))[-1], np.array([0, b - a])
        longest = tuple(int(n) for n in batch.line.space.longest)
        states = np.array(oracle.states(one[0], longest), np.int32)
        rows = {n: x[a:b] if x.ndim == 2 else x for n, x in batch.potentials.arrays.items()}
        alone = Parts(rows, offsets)
        np.testing.assert_allclose(batch.line.score(alone, states), [one[1]], **TOLERANCE)
        indicator = batch.line.indicator(states, offsets)
        np.testing.assert_allclose(batch.line.dot(alone, indicator), [one[1]], **TOLERANCE)
        counted = Counter(part for (part, *_), _ in oracle.parts(batch.oracle(i), one[0]))
        assert {name: indicator[name].sum() for name in batch.line.parts} == {
            name: counted[name] for name in batch.line.parts
        }


def test_states_that_spell_no_segmentation_have_no_score() -> None:
    line = Segments(SegmentSpace(["X", "Y"], [2, 1]))
    potentials = line.potentials(
        np.zeros((3, 3)), np.zeros(line.space.chain.n_transitions), np.zeros(3), [0, 3]
    )
    for states in ([2, 0, 1], [1, 2, 0], [0, 2, 2]):
        assert line.score(potentials, np.array(states, np.int32)) == -np.inf
    assert line.score(potentials, np.array([0, 2, 0], np.int32)) == 0.0


def test_zero_potentials_count_the_segmentations() -> None:
    batch = draw((3, 1, 2), [6, 3], spread=0.0)
    counted = [len(list(oracle.segmentations(n, (3, 1, 2)))) for n in batch.lengths]
    np.testing.assert_allclose(np.exp(batch.line.log_partition(batch.potentials)), counted, rtol=NEAR)


@pytest.mark.parametrize("edge_rows", [True, False])
def test_segments_of_one_token_are_a_chain(edge_rows: bool) -> None:
    batch = draw((1, 1, 1), [4, 0, 7], edge_rows=edge_rows)
    line, (node, edge, segment) = batch.line, (batch.potentials[name] for name in batch.line.parts)
    asked = (node + segment, edge, batch.potentials.offsets, line.space.chain)
    np.testing.assert_allclose(line.log_partition(batch.potentials), chain.log_partition(*asked), rtol=NEAR)
    expected, found = chain.marginals(*asked), line.marginals(batch.potentials)
    np.testing.assert_allclose(found["node"], expected.node, **TOLERANCE)
    np.testing.assert_allclose(found["edge"], expected.edge, **TOLERANCE)
    np.testing.assert_array_equal(line.argmax(batch.potentials)[0], chain.argmax(*asked)[0])


@pytest.mark.parametrize("edge_rows", [True, False])
def test_without_segment_scores_they_are_the_chain_of_valid_states(edge_rows: bool) -> None:
    """The BIO chain, if segments may be as long as the sequence."""
    batch = draw((9, 1, 9), [9, 4, 1, 8], edge_rows=edge_rows)
    line = batch.line
    potentials = Parts(
        {**batch.potentials.arrays, "segment": np.zeros(line.space.n_columns)}, batch.potentials.offsets
    )
    asked = (potentials["node"], potentials["edge"], potentials.offsets, line.space.chain)
    np.testing.assert_allclose(line.log_partition(potentials), chain.log_partition(*asked), rtol=NEAR)
    expected, found = chain.marginals(*asked), line.marginals(potentials)
    np.testing.assert_allclose(found["node"], expected.node, **TOLERANCE)
    np.testing.assert_allclose(found["edge"], expected.edge, **TOLERANCE)
    np.testing.assert_array_equal(line.argmax(potentials)[0], chain.argmax(*asked)[0])


def test_long_documents_lose_no_digits() -> None:
    """The probabilities of every position of a document of 20,000 tokens still sum to one."""
    batch = draw((4, 1, 3), [20_000], edge_rows=False, spread=3.0)
    line, potentials = batch.line, batch.potentials
    found = line.marginals(potentials)
    totals = line.by_label(found["node"]).sum(axis=1)
    np.testing.assert_allclose(totals, 1.0, atol=1e-11)
    inflow = found["edge"].sum(axis=1)[1:]
    np.testing.assert_allclose(inflow, 1.0, atol=1e-11)


@cache
def large() -> Batch:
    rng = np.random.default_rng(5)
    return draw((4, 1, 3), rng.integers(0, 50, size=1500).tolist(), edge_rows=False)


def test_threads_agree_to_the_last_bit() -> None:
    batch = large()
    alone, many = batch.line, batch.line.using(3)
    np.testing.assert_array_equal(many.log_partition(batch.potentials), alone.log_partition(batch.potentials))
    found, expected = many.infer(batch.potentials), alone.infer(batch.potentials)
    np.testing.assert_array_equal(found.log_partition, expected.log_partition)
    for name in alone.parts:
        np.testing.assert_array_equal(found.marginals[name], expected.marginals[name])


def test_samples_follow_the_distribution() -> None:
    """Chi-square over all segmentations of a short sequence; the same for the same seed, also in parts."""
    batch = draw((3, 1), [4, 3], 1)
    n = 4000
    drawn = batch.line.sample(batch.potentials, n, 7)
    for i, paths in enumerate(drawn):
        expected = oracle.distribution(batch.oracle(i))
        counted = Counter(tuple(path) for path in paths.tolist())
        spelled = {oracle.states(one, (3, 1)): p for one, p in expected.items()}
        assert counted.keys() <= spelled.keys()
        statistic = sum((counted[path] - n * p) ** 2 / (n * p) for path, p in spelled.items())
        assert statistic < chi2.ppf(1 - 1e-6, len(spelled) - 1)
    second = Parts({k: v[4:] for k, v in batch.potentials.arrays.items()}, np.array([0, 3]))
    np.testing.assert_array_equal(batch.line.sample(second, n, 7, first=1)[0], drawn[1])


def test_what_has_no_segmentation_is_refused_by_number() -> None:
    line = Segments(SegmentSpace(["X"], [2]))
    node = np.zeros((3, 2))
    node[1:] = -np.inf
    potentials = line.potentials(node, np.zeros(4), np.zeros(2), [0, 1, 3])
    assert line.log_partition(potentials).tolist() == [0.0, -np.inf]
    for ask in (line.marginals, line.argmax, lambda p: line.k_best(p, 2), lambda p: line.sample(p, 1, 0)):
        with pytest.raises(ValueError, match="sequence 1: no labelling has a finite score"):
            ask(potentials)


def test_bad_potentials_are_refused() -> None:
    line = Segments(SegmentSpace(["X"], [2]))
    good = (np.zeros((3, 2)), np.zeros(4), np.zeros(2), [0, 3])
    for i, wrong, what in (
        (0, np.full((3, 2), np.nan), "nan"),
        (0, np.zeros((3, 3)), "shape|columns|broadcast"),
        (1, np.zeros(3), "3 columns, expected 4"),
        (2, np.zeros((2, 2)), "2 rows, expected 3 or 1"),
        (3, [1, 3], "start with 0"),
    ):
        given = [*good]
        given[i] = wrong  # type: ignore[call-overload]
        with pytest.raises((InputError, ValueError), match=what):
            line.log_partition(line.potentials(*given))
    for types, longest in (([], []), (["a", "a"], [1, 1]), (["a"], [0]), (["a"], [1, 2])):
        with pytest.raises(InputError):
            SegmentSpace(types, longest)
