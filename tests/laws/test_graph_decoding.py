"""Decoding of factor graphs: values, proved bounds and guarantees against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.structures.graphs.linear_programme import ranked
from laws.cases import identical, same
from laws.graph_cases import CASES, Case, answers_of, graph_of, grid

table = pytest.mark.parametrize("case", CASES, ids=str)
METHODS = [
    ("icm", {}),
    ("propagation", {"damping": 0.3}),
    ("propagation", {"reweighted": True}),
    ("linear_programme", {}),
    ("linear_programme", {"rounding": "metric"}),
    ("dual_decomposition", {}),
    ("dual_decomposition", {"updates": "subgradient", "max_iterations": 100}),
]


@table
def test_bounds_bound_and_values_are_values(case: Case) -> None:
    graph, best = graph_of(case), answers_of(case).ranked[0][0]
    for method, options in METHODS:
        found = graph.decode(method, **options)
        if found.value > -np.inf:  # a local search may end among forbidden assignments
            same(found.value, graph.score(found.assignment))
        assert found.value <= best + 1e-9
        assert found.value + found.gap >= best - 1e-6  # HiGHS solves to 1e-7
        assert not found.optimal or found.value >= best - 1e-6


@table
def test_integer_programmes_find_the_best(case: Case) -> None:
    graph, ranked_ = graph_of(case), answers_of(case).ranked
    found = graph.decode("ilp")
    assert (found.optimal, found.method) == (True, "ilp")
    same(found.value, ranked_[0][0])


def test_ranking_by_integer_programmes() -> None:
    case = next(case for case in CASES if case.forbidden)
    graph, expected = graph_of(case), answers_of(case).ranked
    found = ranked(graph.batch(), min(6, len(expected)))
    same([one.value for one in found], [score for score, _ in expected[: len(found)]])
    assert len({tuple(one.assignment) for one in found}) == len(found)
    wide = grid(6, 6, 2, seed=3)
    same([one.value for one in wide.k_best(3, memory=300)], [one.value for one in wide.k_best(3)])


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_exact_for_two_states(seed: int) -> None:
    graph = grid(4, 4, 2, seed=seed, ising=True, coupling=2.0)
    rng = np.random.default_rng(seed)
    graph.add([[0, 5]], [[[0.3, 0.1], [-0.4, 0.0]]])  # submodular, not symmetric
    graph.add([[1, 6, 11]], _clique(3, 2, rng))
    graph.add([[2, 7, 12, 13]], _clique(4, 2, rng))
    found = graph.decode("cuts")
    assert (found.optimal, found.gap, found.converged) == (True, 0.0, True)
    same(found.value, graph.decode("brute_force").value)
    observed = graph.condition({5: 1, 10: 0})
    same(observed.decode("cuts").value, observed.decode("brute_force").value)


def _clique(arity: int, states: int, rng: np.random.Generator) -> np.ndarray:
    """A factor that rewards equal states alone."""
    clique = np.full((1, *[states] * arity), -0.5)
    for x in range(states):
        clique[(0, *[x] * arity)] += rng.uniform(0.1, 3)
    return clique


@pytest.mark.parametrize("moves", ["expansion", "swap"])
@pytest.mark.parametrize("seed", range(4))
def test_moves_keep_their_guarantee(seed: int, moves: str) -> None:
    rng = np.random.default_rng(seed)
    graph = grid(3, 3, 3, seed=seed)
    graph.groups.pop()  # the pairs: metrics instead
    pairs = np.array([(v, v + 1) for v in range(8) if v % 3 < 2] + [(v, v + 3) for v in range(6)])
    distance = np.minimum(abs(np.subtract.outer(range(3), range(3))), 1.5)
    graph.add(pairs, -rng.uniform(0.2, 2, size=(len(pairs), 1, 1)) * distance)
    graph.add([[0, 4, 8]], _clique(3, 3, rng))
    found, best = graph.decode("cuts", moves=moves), graph.decode("brute_force").value
    assert best - 1e-9 <= found.value + found.gap
    assert found.value <= best + 1e-9
    if moves == "expansion":  # within 2 max / min of the metric, energies shifted to be non-negative
        without = fc.FactorGraph(graph.cardinalities)
        for group in graph.groups[:2]:
            without.add(group.scope, group.table - group.table.max(axis=1, keepdims=True))
        energy, least = -without.decode("cuts").value, -without.decode("brute_force").value
        assert energy <= 2 * 1.5 * least + 1e-9


def test_cuts_refuse_by_name() -> None:
    graph = grid(3, 3, 2)
    with pytest.raises(InputError, match=r"factor \d+ \(variables \d+ \d+\) is not submodular"):
        graph.decode("cuts")
    with pytest.raises(InputError, match="not a metric|not semi-metric"):
        grid(3, 3, 3).decode("cuts")
    clique = fc.FactorGraph([2, 2, 2])
    clique.add([0, 1, 2], -np.arange(8.0).reshape(2, 2, 2))
    with pytest.raises(InputError, match="scores unequal states differently"):
        clique.decode("cuts")


@pytest.mark.parametrize("seed", range(4))
def test_relaxation_of_associative_cliques_has_its_factor(seed: int) -> None:
    """Rewards alone: the rounded relaxation has at least 1 / (size of the largest clique) of the best."""
    rng = np.random.default_rng(seed)
    graph = fc.FactorGraph(np.full(8, 3))
    graph.add(np.arange(8)[:, None], rng.uniform(0, 1, size=(8, 3)))
    for _ in range(4):
        scope = rng.choice(8, size=3, replace=False)
        graph.add([scope.tolist()], _clique(3, 3, rng) + 0.5)
    best = graph.decode("brute_force").value
    for rounding in ("largest", "metric"):
        found = graph.decode("linear_programme", rounding=rounding, seed=seed)
        assert found.value >= best / 3
        assert found.value + found.gap >= best - 1e-6


def test_metric_rounding_is_within_a_factor_of_two_for_uniform_metrics() -> None:
    for seed in range(4):
        graph = grid(3, 3, 3, seed=seed)
        graph.groups.pop()
        pairs = np.array([(v, v + 1) for v in range(8) if v % 3 < 2] + [(v, v + 3) for v in range(6)])
        graph.add(pairs, 0.8 * (np.eye(3) - 1))
        shifted = graph.with_tables([g.table - g.table.max(axis=1, keepdims=True) for g in graph.groups])
        energy = -shifted.decode("linear_programme", rounding="metric", seed=seed).value
        assert energy <= 2 * -shifted.decode("brute_force").value + 1e-9


def test_mplp_and_subgradient_reach_the_relaxation() -> None:
    graph = grid(4, 4, 3, seed=7)
    relaxed = graph.decode("linear_programme")
    bound = relaxed.value + relaxed.gap
    found = graph.decode("dual_decomposition", max_iterations=5000, tolerance=0)
    assert found.value + found.gap >= bound - 1e-6
    assert found.value + found.gap <= bound + 0.5
    slow = graph.decode("dual_decomposition", updates="subgradient", max_iterations=3000)
    assert bound - 1e-6 <= slow.value + slow.gap <= bound + 1.0


def test_a_fractional_relaxation_is_rounded_and_says_so() -> None:
    graph = fc.FactorGraph([2, 2, 2])
    graph.add([[0, 1], [1, 2], [0, 2]], 1 - np.eye(2))  # all want to differ: one half everywhere scores 3
    graph.add([[0]], [[0.0, 0.1]])
    found = graph.decode("linear_programme")
    assert "rounded: 0.0%" in found.why
    same(found.value, 2.1)
    same(found.value + found.gap, 3.05, rel=1e-6)
    assert not found.optimal


def test_the_dual_bound_is_tight_where_the_relaxation_is() -> None:
    for case in (case for case in CASES if case.shape == "forest" and not case.forbidden):
        found = graph_of(case).decode("dual_decomposition", tolerance=1e-12)
        same(found.value + found.gap, answers_of(case).ranked[0][0])
    assert grid(4, 4, 2, seed=1).decode("dual_decomposition").optimal


def test_auto_reports_what_it_chose() -> None:
    chosen = {
        "forest": (fc.FactorGraph([2]), {}),
        "junction_tree": (grid(3, 3, 2), {}),
        "cuts": (grid(6, 6, 2, ising=True), {"memory": 300}),
        "ilp": (grid(4, 4, 3), {"memory": 300}),
        "dual_decomposition": (grid(26, 26, 4), {"memory": 300}),
    }
    for method, (graph, options) in chosen.items():
        found = graph.decode(**options)
        assert found.method == method
        assert found.why
    exact = grid(6, 6, 2, ising=True)
    same(exact.decode(memory=300).value, exact.decode().value)


def test_threads_do_not_change_a_bit() -> None:
    graphs = [grid(4, 4, 3, seed=seed, ising=True) for seed in range(30)]
    for method in ("junction_tree", "propagation", "icm", "dual_decomposition", "cuts", "auto"):
        for a, b in zip(*(fc.decode(graphs, method, n_jobs=n) for n in (1, 2))):
            identical(a.assignment, b.assignment)
            assert (a.value, a.gap) == (b.value, b.gap)
