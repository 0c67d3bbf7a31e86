"""Approximate inference on factor graphs: exact on forests, bounds that bound, errors that are stated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from laws.cases import identical, named, same
from laws.graph_cases import CASES, Case, answers_of, factor_arrays, graph_of, grid

SCHEDULES = ("flooding", "sequential", "residual", "tree")
table = pytest.mark.parametrize("case", CASES, ids=str)
FORESTS = [case for case in CASES if case.shape == "forest"]


@pytest.mark.parametrize("case", FORESTS, ids=str)
def test_propagation_is_exact_on_forests(case: Case) -> None:
    graph, answers = graph_of(case), answers_of(case)
    for schedule in SCHEDULES:
        for damping in (0.0, 0.4):
            with named((schedule, damping)):
                found = graph.infer("propagation", schedule=schedule, damping=damping, tolerance=1e-13)
                assert (found.converged, found.bound) == (True, "exact")
                same(found.log_partition, answers.log_partition)
                for one, other in zip(found.variables, answers.variables):
                    same(one, other, rel=1e-9, abs=1e-11)  # the tolerance of the messages
                for one, other in zip(found.factors, factor_arrays(graph, answers)):
                    same(one, other, rel=1e-9, abs=1e-11)
                best = graph.decode("propagation", schedule=schedule, damping=damping)
                same(best.value, answers.ranked[0][0])


@table
def test_schedules_reach_one_fixed_point(case: Case) -> None:
    graph = graph_of(case)
    found = [
        graph.infer("propagation", schedule=schedule, damping=0.3, tolerance=1e-12, max_iterations=5000)
        for schedule in SCHEDULES
    ]
    assert all(one.converged for one in found)
    for one in found[1:]:
        same(one.log_partition, found[0].log_partition, rel=1e-8)  # loops amplify the tolerance
        for a, b in zip(one.variables, found[0].variables):
            same(a, b, rel=1e-7, abs=1e-8)


@table
def test_bounds_bound(case: Case) -> None:
    graph, log_z = graph_of(case), answers_of(case).log_partition
    for limit in (3, 1000):  # before and after convergence
        above = graph.infer("tree_reweighted", max_iterations=limit)
        assert above.bound == "upper"
        assert above.log_partition >= log_z - 1e-9
    if not case.forbidden:
        below = graph.infer("mean_field")
        assert (below.bound, below.converged) == ("lower", True)
        assert below.log_partition <= log_z + 1e-9


def test_reweighted_bound_is_exact_on_forests() -> None:
    for case in FORESTS:
        same(graph_of(case).infer("tree_reweighted").log_partition, answers_of(case).log_partition)


def test_mean_field_is_a_fixed_point_of_its_equations() -> None:
    graph = grid(3, 3, 3, seed=4)
    found = graph.infer("mean_field", tolerance=1e-12)
    q, nodes, pairs = found.variables, graph.groups[0], graph.groups[1]
    for v in range(9):
        score = nodes.table[v].copy()
        for (a, b), table in zip(pairs.scope.tolist(), pairs.tables()):
            score += table @ q[b] if a == v else q[a] @ table if b == v else 0
        same(q[v], np.exp(score - score.max()) / np.exp(score - score.max()).sum(), rel=1e-8)
    entropy = -sum(float(p @ np.log(p)) for p in q)
    energy = sum(float(q[v] @ nodes.table[v]) for v in range(9))
    energy += sum(float(q[a] @ t @ q[b]) for (a, b), t in zip(pairs.scope.tolist(), pairs.tables()))
    same(found.log_partition, energy + entropy)


@pytest.mark.parametrize("blocks", ["none", "chains", "trees"])
@pytest.mark.parametrize("case", [case for case in CASES if not case.forbidden][::3], ids=str)
def test_gibbs_is_within_its_standard_errors(case: Case, blocks: str) -> None:
    found = graph_of(case).infer("gibbs", n=3000, blocks=blocks, seed=3)
    assert found.converged
    assert found.diagnostics["r_hat"] < 1.05
    assert np.isnan(found.log_partition)
    for one, error, exact in zip(
        found.variables, found.diagnostics["standard_errors"], answers_of(case).variables
    ):
        assert (abs(one - exact) <= 5 * error + 1e-12).all()
    for one, exact in zip(found.factors, factor_arrays(graph_of(case), answers_of(case))):
        assert abs(one - exact).max() < 0.05


def test_gibbs_warns_of_forbidden_configurations() -> None:
    graph = next(graph_of(case) for case in CASES if case.forbidden)
    with pytest.warns(UserWarning, match="may block"):
        graph.infer("gibbs", n=50)


def test_chains_that_disagree_are_not_converged() -> None:
    graph = fc.FactorGraph([2, 2, 2])
    graph.add([[0, 1], [1, 2]], [[20.0, 0.0], [0.0, 20.0]])
    found = graph.infer("gibbs", n=200, chains=8)
    assert not found.converged
    assert found.diagnostics["r_hat"] > 1.05
    assert graph.infer("gibbs", n=200, chains=8, blocks="trees").converged


@pytest.mark.parametrize("case", CASES[::2], ids=str)
def test_importance_sampling(case: Case) -> None:
    found = graph_of(case).infer("importance_sampling", n=20_000, seed=2)
    size = found.diagnostics["effective_sample_size"]
    assert found.bound == "estimate"
    assert 0 < size <= 20_000 + 1e-6
    same(found.log_partition, answers_of(case).log_partition, rel=0, abs=5 / np.sqrt(size))
    for one, exact in zip(found.variables, answers_of(case).variables):
        assert abs(one - exact).max() <= 5 * 0.5 / np.sqrt(size)


def test_an_unconverged_answer_says_so() -> None:
    rng = np.random.default_rng(1)
    graph = fc.FactorGraph(np.full(12, 2))
    graph.add(np.arange(12)[:, None], rng.normal(0, 0.1, size=(12, 2)))
    pairs = np.argwhere(np.triu(np.ones((12, 12)), 1))
    graph.add(pairs, rng.normal(0, 2, size=(66, 1, 1)) * np.array([[1, -1], [-1, 1]]))  # frustrated
    found = graph.infer("propagation", schedule="flooding", max_iterations=200)
    assert (found.converged, found.iterations) == (False, 200)
    assert found.residual > 0.5
    again = graph.infer("auto", memory=300, max_iterations=100)
    assert (again.method, again.converged) == ("propagation", False)
    assert "neither" in again.why


def test_auto_falls_back_to_propagation() -> None:
    found = grid(6, 6, 2, coupling=0.4).infer(memory=500)
    assert (found.method, found.bound, found.converged) == ("propagation", "estimate", True)
    assert "exceeds memory" in found.why


def test_linear_and_logarithmic_flooding_agree() -> None:
    graph = grid(5, 5, 3, coupling=0.5)
    linear = graph.infer("propagation", schedule="flooding", tolerance=1e-12)
    steep = fc.FactorGraph(graph.cardinalities)
    for group in graph.groups:
        steep.add(group.scope, group.table)
    steep.add([0], [0.0, 0.0, -300.0])  # beyond the range of the linear kernel
    steep.add([0], [0.0, 0.0, 300.0])
    steep.add([[0, 1]], np.full((1, 3, 3), 0.0) + np.array([0.0, 0.0, -250.0])[:, None])
    steep.add([0], [0.0, 0.0, 250.0])
    logarithmic = steep.infer("propagation", schedule="flooding", tolerance=1e-12)
    same(logarithmic.log_partition, linear.log_partition)
    same(np.array(logarithmic.variables), np.array(linear.variables), rel=1e-8)


def test_threads_do_not_change_a_bit() -> None:
    large = grid(60, 60, 3, coupling=0.3)
    for options in (
        {"schedule": "flooding", "max_iterations": 30},
        {"schedule": "tree", "max_iterations": 10},
    ):
        one, two = (large.infer("propagation", n_jobs=n, **options) for n in (1, 2))
        identical(one.variables, two.variables)
        assert one.log_partition == two.log_partition
    small = [grid(4, 4, 3, seed=seed) for seed in range(40)]
    for method in ("junction_tree", "propagation", "tree_reweighted", "mean_field", "gibbs"):
        options = {"n": 50} if method == "gibbs" else {}
        for a, b in zip(*(fc.infer(small, method, n_jobs=n, **options) for n in (1, 2))):
            identical(a.variables, b.variables)
            identical(a.factors, b.factors)


def test_many_graphs_are_as_one_by_one() -> None:
    graphs = [graph_of(case) for case in CASES]
    for one, case in zip(fc.infer(graphs), CASES):
        same(one.log_partition, answers_of(case).log_partition)
    batch = fc.GraphBatch(graphs)
    doubled = batch.with_tables([[2 * g.table for g in graph.groups] for graph in graphs])
    for one, graph in zip(doubled.infer("propagation", damping=0.3), graphs):
        other = graph.with_tables([2 * g.table for g in graph.groups]).infer("propagation", damping=0.3)
        assert one.log_partition == other.log_partition
        identical(one.variables, other.variables)


def test_mean_field_refuses_what_it_cannot_avoid() -> None:
    graph = fc.FactorGraph([2, 2])
    graph.add([0, 1], [[0.0, -np.inf], [-np.inf, 0.0]])
    with pytest.raises(InputError, match="forbidden configurations"):
        graph.infer("mean_field")
    same(graph.infer("propagation").log_partition, np.log(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert graph.infer("gibbs", n=100, blocks="trees").converged


def test_a_large_graph_ends_early_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from fieldcraft.structures.graphs import automatic

    rng = np.random.default_rng(3)
    small, large = (fc.FactorGraph(np.full(n, 2)) for n in (6, 30))
    for graph in (small, large):
        n = graph.n_variables
        pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
        graph.add(pairs, rng.normal(0, 0.5, size=(len(pairs), 1, 1)) * np.array([[1, -1], [-1, 1]]))
        graph.add(np.arange(n)[:, None], rng.normal(size=(n, 2)))
    monkeypatch.setattr(automatic, "TREE_VISITS", 10_500)  # 175 sweeps of the small one, 6 of the large one
    monkeypatch.setattr(automatic, "RESIDUAL_VISITS", 10_500)
    few, many = fc.infer([large, small], memory=100)[:2]
    assert not few.converged
    assert few.iterations <= 6
    assert "iterations because the graph is large" in few.why
    assert many.converged or many.iterations == 175
    assert large.infer(memory=100, max_iterations=7).iterations == 7


def test_importance_sampling_obeys_what_is_forbidden() -> None:
    """Three colours on a ring with chords: a forest alone would propose mostly forbidden colourings."""
    rng = np.random.default_rng(0)
    graph = fc.FactorGraph(np.full(30, 3))
    ring = [[i, (i + 1) % 30] for i in range(30)] + [[i, (i + 7) % 30] for i in range(0, 30, 3)]
    graph.add(ring, np.where(np.eye(3) > 0, -np.inf, 0.0))
    graph.add(np.arange(30)[:, None], rng.normal(size=(30, 3)))
    graph.add([[i, (i + 3) % 30] for i in range(30)], 0.3 * rng.normal(size=(30, 3, 3)))
    exact, found = graph.infer("junction_tree"), graph.infer("importance_sampling", n=5000)
    size = found.diagnostics["effective_sample_size"]
    assert found.converged
    assert size > 1000
    same(found.log_partition, exact.log_partition, rel=0, abs=5 / np.sqrt(size))
    for one, other in zip(found.variables, exact.variables):
        assert abs(one - other).max() <= 5 * 0.5 / np.sqrt(size)
