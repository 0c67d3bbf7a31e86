"""Every element of the exact answers about factor graphs, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.structures import chain
from laws.cases import CASES as CHAINS
from laws.cases import Case as Chain
from laws.cases import batch_of, identical, same
from laws.graph_cases import CASES, Case, answers_of, factor_arrays, graph_of, grid

table = pytest.mark.parametrize("case", CASES, ids=str)
METHODS = {"brute_force": {}, "junction_tree": {"order": "min_fill"}, "auto": {}}


def methods_for(case: Case) -> list[str]:
    return [*METHODS, "forest"] if case.shape == "forest" else list(METHODS)


@table
def test_log_partition_and_marginals(case: Case) -> None:
    graph, answers = graph_of(case), answers_of(case)
    for method in methods_for(case):
        found = graph.infer(method)
        assert found.exact
        assert found.converged
        same(found.log_partition, answers.log_partition)
        for one, other in zip(found.variables, answers.variables):
            same(one, other)
        for one, other in zip(found.factors, factor_arrays(graph, answers)):
            same(one, other)


@table
def test_best_assignment(case: Case) -> None:
    graph, answers = graph_of(case), answers_of(case)
    for method in methods_for(case):
        found = graph.decode(method)
        assert (found.optimal, found.gap, found.labels) == (True, 0.0, None)
        assert found.assignment.dtype == np.int32
        assert tuple(found.assignment) == answers.ranked[0][1]
        same(found.value, answers.ranked[0][0])
        same(graph.score(found.assignment), found.value)


@table
def test_k_best(case: Case) -> None:
    graph, ranked = graph_of(case), answers_of(case).ranked
    found = graph.k_best(len(ranked) + 3)
    assert len(found) == len(ranked)
    same([one.value for one in found], [score for score, _ in ranked])
    assert {tuple(one.assignment) for one in found} == {states for _, states in ranked}
    assert [tuple(one.assignment) for one in graph.k_best(2)] == [states for _, states in ranked[:2]]


@pytest.mark.parametrize("case", CASES[::5], ids=str)
def test_samples_have_the_right_frequencies(case: Case) -> None:
    graph, answers = graph_of(case), answers_of(case)
    n = 20_000
    drawn = graph.sample(n, seed=5)
    assert drawn.shape == (n, graph.n_variables)
    for v, expected in enumerate(answers.variables):
        share = np.bincount(drawn[:, v], minlength=len(expected)) / n
        error = np.sqrt(np.array(expected) * (1 - np.array(expected)) / n)
        assert (abs(share - expected) <= 5 * error + 1e-12).all()
    identical(drawn, graph.sample(n, seed=5))


@pytest.mark.parametrize("case", CHAINS[::3], ids=str)
def test_a_chain_as_a_graph_has_the_chains_numbers(case: Chain) -> None:
    node, edge, offsets, states = batch_of(case).inputs
    graph = fc.FactorGraph.from_chain(node, edge, offsets, states)
    found, marginals = graph.infer(), chain.marginals(node, edge, offsets, states)
    same(found.log_partition, marginals.log_partition.sum())
    same(np.array(found.variables), marginals.node)
    best, scores = chain.argmax(node, edge, offsets, states)
    decoded = graph.decode("forest")
    same(decoded.value, scores.sum())
    assert decoded.assignment.tolist() == best.tolist()


@pytest.mark.parametrize("order", ["min_fill", "min_degree"])
def test_orders_agree_on_a_grid(order: str) -> None:
    graph = grid(7, 6, 2)
    found, other = graph.infer("junction_tree", order=order), graph.infer("junction_tree")
    same(found.log_partition, other.log_partition)
    same(np.array(found.variables), np.array(other.variables))


def test_a_constant_shifts_log_z_and_moves_no_marginal() -> None:
    graph = grid(4, 4, 3)
    before = graph.infer()
    graph.add(np.zeros((1, 0), int), np.array([2.5]))
    after = graph.infer()
    same(after.log_partition, before.log_partition + 2.5)
    same(np.array(after.variables), np.array(before.variables))


def test_marginals_are_the_gradient_of_log_z() -> None:
    graph, h = grid(3, 3, 2), 1e-5
    factors = graph.infer().factors
    for k, group in enumerate(graph.groups):
        for cell in np.ndindex(group.table.shape):
            moved = []
            for sign in (1, -1):
                tables = [g.table.copy() for g in graph.groups]
                tables[k][cell] += sign * h
                moved.append(graph.with_tables(tables).infer().log_partition)
            slope = (moved[0] - moved[1]) / (2 * h)
            same(slope, factors[k].reshape(group.table.shape)[cell], rel=1e-7, abs=1e-9)  # differences


def test_large_and_small_potentials() -> None:
    graph = grid(3, 3, 2)
    tables = [1000 * group.table for group in graph.groups]
    hot = graph.with_tables(tables)
    found, best = hot.infer(), hot.decode()
    assert found.log_partition >= best.value
    same(found.log_partition, best.value, rel=1e-6)  # the best assignment has nearly all of the mass
    same(hot.infer("brute_force").log_partition, found.log_partition)


def test_a_deep_tree_does_not_overflow_the_stack() -> None:
    n = 60_000
    graph = fc.FactorGraph(np.full(n, 2))
    graph.add(np.stack([np.arange(n - 1), np.arange(1, n)], 1), [[0.5, 0.0], [0.0, 0.4]])
    assert [round(one.value, 6) for one in graph.k_best(2)] == [
        round(0.5 * (n - 1), 6),
        round(0.5 * (n - 2), 6),
    ]
    assert graph.sample(2).shape == (2, n)


def test_no_variables_no_factors() -> None:
    empty = fc.FactorGraph([])
    assert empty.infer().log_partition == 0
    assert empty.decode().assignment.tolist() == []
    alone = fc.FactorGraph([3])
    same(alone.infer().log_partition, np.log(3))
    same(alone.infer().variables[0], np.full(3, 1 / 3))
