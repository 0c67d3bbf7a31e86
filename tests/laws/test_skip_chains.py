"""Skip chains against enumeration, against the engine of factor graphs, and against linear chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft.structures import skip_inference
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.skip_chain import SkipChain
from fieldcraft.structures.skip_graphs import Pairs, SkipParts
from fieldcraft.structures.skip_inference import SkipInference
from fieldcraft.structures.states import StateSpace
from laws.cases import named, same
from oracles import graph as oracle

LABELS = ("a", "b", "c")
TIGHT = {"tolerance": 1e-13, "max_iterations": 1000, "damping": 0.0}
LENGTHS = (5, 0, 1, 6)
PAIRS = [[(0, 3), (1, 4)], [], [], [(0, 5), (0, 2), (2, 5)]]


def batch(
    seed: int,
    *,
    cut: tuple[int, ...] = (),
    pairs: Any = PAIRS,
    shared: bool = False,
    scale: float = 1.0,
    lengths: tuple[int, ...] = LENGTHS,
    n: int = len(LABELS),
) -> SkipParts:
    """Random potentials; steps that lead to the positions ``cut`` score 0."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths])
    rows = np.cumsum([0, *map(len, pairs)])
    scope = [[u + first, v + first] for one, first in zip(pairs, offsets) for u, v in one]
    edge = rng.normal(size=n * n if shared else (offsets[-1], n * n), scale=scale)
    if not shared:
        edge[list(cut)] = 0.0
    arrays = {
        "node": rng.normal(size=(offsets[-1], n), scale=scale),
        "edge": edge,
        "skip": rng.normal(size=(len(scope), n * n), scale=scale),
    }
    return SkipParts(arrays, offsets, Pairs(np.array(scope, np.int32).reshape(-1, 2), rows))


def structure(method: str = "propagation", **options: Any) -> SkipChain:
    return SkipChain(LABELS, "full", (method, {**(TIGHT if method == "propagation" else {}), **options}))


def enumerated(parts: SkipParts, i: int) -> oracle.Answers:
    """The answers for one sequence: nodes, steps and pairs are its factors, in this order."""
    n, (a, b) = parts["node"].shape[1], parts.offsets[i : i + 2]
    edge = np.broadcast_to(parts["edge"], (parts.n_positions, n * n))
    factors: list[Any] = [((t,), {(y,): parts["node"][a + t, y] for y in range(n)}) for t in range(b - a)]
    both = [(y, z) for y in range(n) for z in range(n)]
    for t in range(1, b - a):
        factors.append(((t - 1, t), dict(zip(both, edge[a + t]))))
    for p in range(*parts.pairs.rows[i : i + 2]):
        u, v = parts.pairs.scope[p] - a
        factors.append(((int(u), int(v)), dict(zip(both, parts["skip"][p]))))
    return oracle.answers([n] * (b - a), factors)


def compared(parts: SkipParts, found: Any, i: int, rel: float = 1e-9, cut: tuple[int, ...] = ()) -> None:
    """Every number of sequence i, but for those of the steps ``cut``."""
    answers, (a, b) = enumerated(parts, i), parts.offsets[i : i + 2]
    same(found.log_partition[i], answers.log_partition, rel=rel)
    tables = [np.array([*table.values()]) for table in answers.factors]
    length, n = b - a, parts["node"].shape[1]
    same(found.marginals["node"][a:b], np.array(tables[:length]).reshape(-1, n), rel=rel, abs=1e-10)
    if length > 1:
        steps = [t for t in range(1, length) if a + t not in cut]
        there = np.array(tables[length : 2 * length - 1])[[t - 1 for t in steps]]
        same(found.marginals["edge"][[a + t for t in steps]], there, rel=rel, abs=1e-10)
    pairs = slice(*parts.pairs.rows[i : i + 2])
    if pairs.start < pairs.stop:
        rest = np.array(tables[max(length, 2 * length - 1) :])
        same(found.marginals["skip"][pairs], rest, rel=rel, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_exact_inference_is_enumeration(seed: int) -> None:
    parts = batch(seed, shared=seed == 1)
    found = structure("junction_tree").infer(parts)
    assert found.exact
    for i, length in enumerate(LENGTHS):
        if length:
            compared(parts, found, i)
    states, value = structure().argmax(parts)
    for i, length in enumerate(LENGTHS):
        if length:
            best = enumerated(parts, i).ranked[0]
            same(value[i], best[0])
            assert tuple(states[parts.offsets[i] : parts.offsets[i + 1]]) == best[1]
    same(structure().score(parts, states), value)


@pytest.mark.parametrize(("n", "pairs"), [(2, [(2, 8)]), (2, [(0, 9), (4, 9)]), (4, [(3, 5)]), (6, [(2, 4)])])
@pytest.mark.parametrize("shared", [True, False])
def test_positions_between_skip_edges_are_summed_out(n: int, pairs: Any, shared: bool) -> None:
    """Before, between and behind the ends; by loops of a known number of labels and of any."""
    length = 10 if n == 2 else 6 if n == 4 else 5
    parts = batch(20 + n, pairs=[pairs, []], lengths=(length, 3), n=n, shared=shared)
    found = SkipChain([str(y) for y in range(n)], "full", ("junction_tree", {})).infer(parts)
    for i in range(2):
        compared(parts, found, i)


@pytest.mark.parametrize("seed", range(3))
def test_propagation_is_enumeration_where_nothing_forms_a_cycle(seed: int) -> None:
    """Steps that score 0 join nothing: the pairs and the other steps form a forest."""
    cut = (2, 3, 7, 8, 10)
    parts = batch(seed, cut=cut, pairs=[[(0, 3), (2, 4)], [], [], [(0, 5), (1, 3)]])
    found = structure().infer(parts)
    assert found.converged
    compared(parts, found, 0, cut=cut)
    compared(parts, found, 3, cut=cut)


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_propagation_has_the_fixed_point_of_the_engine(scale: float) -> None:
    parts = batch(5, scale=scale)
    found = structure().infer(parts)
    there = SkipInference(parts.offsets, parts.pairs, 3, "propagation", TIGHT).by_graphs(
        parts, "propagation", TIGHT, 1
    )
    assert found.converged
    assert there["converged"].all()
    same(found.log_partition, there["log_partition"])
    for name in structure().parts:
        with named(name):
            same(found.marginals[name], there[name], rel=1e-8, abs=1e-10)


def test_auto_is_exact_where_junction_trees_are_narrow() -> None:
    parts = batch(11)
    exact, loopy = structure("junction_tree").infer(parts), structure().infer(parts)
    found = structure("auto").infer(parts)
    same(found.log_partition, exact.log_partition)
    for name in structure().parts:
        same(found.marginals[name], exact.marginals[name], abs=1e-12)
    none = structure("auto", memory="1B", wide="propagation", **TIGHT).infer(parts)
    same(none.log_partition, loopy.log_partition)
    above = structure("auto", memory="1B").infer(parts).log_partition
    assert (above[[0, 3]] > exact.log_partition[[0, 3]]).all()  # upper bounds
    same(above[[1, 2]], exact.log_partition[[1, 2]])  # without pairs
    assert abs(loopy.log_partition[3] - exact.log_partition[3]) > 1e-6


def reweighted(parts: SkipParts) -> Any:
    """Bounds for every sequence, none of which is narrow enough to be exact."""
    return structure("auto", memory="1B").infer(parts)


def test_bounds_are_those_of_the_engine_and_above_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the short chains, whose spanning forests both use."""
    monkeypatch.setattr(skip_inference, "REWEIGHTED", {**TIGHT, "max_iterations": 3000})
    for seed, scale in ((11, 1.0), (12, 0.3), (13, 2.0)):
        parts = batch(seed, scale=scale)
        found = reweighted(parts)
        there = structure("tree_reweighted", tolerance=1e-13, max_iterations=5000).infer(parts)
        assert found.converged
        same(found.log_partition, there.log_partition)
        for name in structure().parts:
            with named(name):
                same(found.marginals[name], there.marginals[name], rel=1e-8, abs=1e-10)
        for i in (0, 3):
            assert found.log_partition[i] > enumerated(parts, i).log_partition
        for i in (1, 2):  # without pairs there is nothing to bound
            if LENGTHS[i]:
                compared(parts, found, i)


@pytest.mark.parametrize("infer", [lambda parts: structure().infer(parts), reweighted])
def test_marginals_are_the_gradient_of_the_estimate(infer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skip_inference, "REWEIGHTED", {**TIGHT, "max_iterations": 3000})
    parts, step = batch(6), 1e-5
    found = infer(parts)
    rng = np.random.default_rng(0)
    for name in ("node", "edge", "skip"):
        for _ in range(6):
            cell = tuple(rng.integers(0, n) for n in parts[name].shape)
            values = []
            for sign in (1, -1):
                moved = {k: np.array(v) for k, v in parts.arrays.items()}
                moved[name][cell] += sign * step
                other = SkipParts(moved, parts.offsets, parts.pairs)
                values.append(infer(other).log_partition.sum())
            slope = (values[0] - values[1]) / (2 * step)
            same(slope, found.marginals[name][cell], rel=1e-6, abs=1e-8)  # of differences


def test_without_pairs_all_of_it_is_the_linear_chain() -> None:
    parts = batch(7, pairs=[[], [], [], []])
    chain = LinearChain(StateSpace.labels(LABELS))
    found, there = structure().infer(parts), chain.infer(parts)
    assert found.exact
    same(found.log_partition, there.log_partition)
    for name in ("node", "edge"):
        same(found.marginals[name], there.marginals[name], abs=1e-14)
    assert np.array_equal(structure().argmax(parts)[0], chain.argmax(parts)[0])


@pytest.mark.parametrize("options", [{}, {"method": "auto", "memory": "1B"}, {"method": "auto"}])
def test_threads_agree_to_the_last_bit(options: Any) -> None:
    parts = batch(8)
    one, four = structure(**options).infer(parts), structure(**options).using(4).infer(parts)
    assert np.array_equal(one.log_partition, four.log_partition)
    assert all(np.array_equal(one.marginals[k], four.marginals[k]) for k in one.marginals.arrays)


def test_scores_beyond_the_range_of_scaled_sums_are_summed_in_logarithms() -> None:
    """Two labels that only a score of 2,000 tells apart underflow in products."""
    parts = batch(9, pairs=[[(0, 3)], [], [], [(0, 5)]])
    arrays = {k: np.array(v) for k, v in parts.arrays.items()}
    arrays["node"][0] = [0.0, -2000.0, -2000.0]
    arrays["edge"][1] = np.array([-2000.0, -2000.0, -2000.0] + [0.0] * 6)
    arrays["node"][1] = [0.0, 0.0, 0.0]
    moved = SkipParts(arrays, parts.offsets, parts.pairs)
    found = structure().infer(moved)
    exact = structure("junction_tree").infer(moved)
    assert np.isfinite(found.log_partition).all()
    same(found.log_partition, exact.log_partition, rel=1e-2)  # propagation estimates


def test_forbidden_labels_have_no_probability() -> None:
    parts = batch(10)
    allowed = np.ones((parts.n_positions, 3), bool)
    allowed[0, 1] = allowed[3, 0] = False
    restricted = structure().restrict(parts, allowed)
    found = structure().infer(restricted)
    assert found.marginals["node"][0, 1] == 0.0
    assert found.marginals["node"][3, 0] == 0.0
    assert np.isfinite(found.log_partition).all()
    compared(restricted, structure("junction_tree").infer(restricted), 0)
