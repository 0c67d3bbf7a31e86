"""Importance sampling: draws from a spanning forest of the graph, weighted to the whole.

The proposal has the factors of a forest, and single-variable factors that stand for the rest: the mean-field
expectations of what was left out. It is drawn from exactly; weight = exp(score) / q, and log Z is the log of
the
mean weight, an unbiased estimate of Z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import GraphMarginals, Inference
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.groups import Floats


def infer(batch: GraphBatch, *, n_jobs: int, n: int = 10_000, seed: int = 0) -> list[Inference]:
    """Weighted frequencies of n draws, with their effective sample size."""
    n = whole_number(n, "n", 1)
    with batch.errors():
        return [_infer(batch.graph(i), n, seed + i, n_jobs) for i in range(len(batch))]


def _infer(graph: FactorGraph, n: int, seed: int, n_jobs: int) -> Inference:
    proposal = _proposal(graph).batch()
    limit = float("inf")
    (drawn,) = _core.graph_sample(*proposal.inputs, n, seed % 2**64, "min_degree", limit, n_jobs)
    log_q = _scores(proposal.graphs[0], drawn)
    log_q -= _core.graph_log_partition(*proposal.inputs, "min_degree", limit, n_jobs)[0]
    log_w = _scores(graph, drawn) - log_q
    top = log_w.max()
    if top == -np.inf:
        raise ValueError("no draw was possible: forbidden configurations (-inf) are too many; raise n")
    weights = np.exp(log_w - top)
    log_z: Any = float(top + np.log(weights.mean()))
    size = float(weights.sum() ** 2 / (weights**2).sum())
    weights /= weights.sum()
    variables: list[Any] = [
        np.bincount(drawn[:, v], weights, int(states)) for v, states in enumerate(graph.cardinalities)
    ]
    factors = [
        np.array(
            [np.bincount(_cells(graph, scope, drawn), weights, group.table.shape[1]) for scope in group.scope]
        ).reshape(-1, *group.shape)
        for group in graph.groups
    ]
    return Inference(
        log_z,
        GraphMarginals(variables, factors),
        bound="estimate",
        converged=size >= 100,
        iterations=n,
        residual=1 - size / n,
        method="importance_sampling",
        why=f"{n:,} weighted draws from a spanning forest; converged: an effective size >= 100",
        diagnostics={"effective_sample_size": size},
    )


def _proposal(graph: FactorGraph) -> FactorGraph:
    """The forest of the factors with the widest tables, and expectations of the others."""
    from fieldcraft.structures.graphs.forests import strongest_forest

    inside, guess = strongest_forest(graph)
    other = FactorGraph(graph.cardinalities)
    other.observed = graph.observed
    local = [np.zeros(int(states)) for states in graph.cardinalities]
    for group, kept in zip(graph.groups, inside):
        if kept.any():
            other.add(group.scope[kept], group.table[kept])
        for scope, table in zip(group.scope[~kept], group.tables()[~kept]):
            least = np.min(table, initial=0.0, where=table > -np.inf)
            finite = np.where(table == -np.inf, least - 1, table)
            for k, v in enumerate(scope):
                rest = finite
                for j in range(len(scope) - 1, -1, -1):
                    if j != k:
                        rest = np.tensordot(rest, guess[scope[j]], axes=(j, 0))
                local[v] += rest
    for v, scores in enumerate(local):
        if scores.any():
            other.add([v], scores - scores.max())
    return other


def _cells(graph: FactorGraph, scope: NDArray[np.int32], drawn: NDArray[np.int32]) -> NDArray[np.int64]:
    cell = np.zeros(len(drawn), np.int64)
    for v in scope:
        cell = cell * int(graph.cardinalities[v]) + drawn[:, v]
    return cell


def _scores(graph: FactorGraph, drawn: NDArray[np.int32]) -> Floats:
    total = np.zeros(len(drawn))
    for group in graph.groups:
        for scope, table in zip(group.scope, group.table):
            total += table[_cells(graph, scope, drawn)]
    return total
