"""Importance sampling: draws from a narrow part of the graph, weighted to the whole.

The proposal has the factors of a spanning forest, all that forbid something as far as a junction tree of
``HARD_BYTES`` allows (draws then obey them), and single-variable factors that stand for the rest: the
mean-field expectations of what was left out. It is drawn from exactly; weight = exp(score) / q, and log Z is
the log of the mean weight, an unbiased estimate of Z.
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
from fieldcraft.structures.graphs.junction_tree import fits

Flags = NDArray[np.bool_]
HARD_BYTES = 2.0**26  # of the proposal's junction tree


def infer(batch: GraphBatch, *, n_jobs: int, n: int = 10_000, seed: int = 0) -> list[Inference]:
    """Weighted frequencies of n draws, with their effective sample size."""
    n = whole_number(n, "n", 1)
    with batch.errors():
        return [_infer(batch.graph(i), n, seed + i, n_jobs) for i in range(len(batch))]


def _infer(graph: FactorGraph, n: int, seed: int, n_jobs: int) -> Inference:
    proposal = _proposal(graph, n_jobs).batch()
    limit = float("inf")
    (drawn,) = _core.graph_sample(*proposal.inputs, n, seed % 2**64, "min_degree", limit, n_jobs)
    log_q = _scores(proposal.graphs[0], drawn)
    log_q -= _core.graph_log_partition(*proposal.inputs, "min_degree", limit, n_jobs)[0]
    log_w = _scores(graph, drawn) - log_q
    top = log_w.max()
    if top == -np.inf:
        raise ValueError(
            "no draw was possible: more configurations are forbidden (-inf) than a junction tree of 64 MiB "
            "can obey; raise n, or use junction_tree or gibbs with blocks='trees'"
        )
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
        why=f"{n:,} weighted draws from a narrow part of the graph; converged: an effective size >= 100",
        diagnostics={"effective_sample_size": size},
    )


def _proposal(graph: FactorGraph, n_jobs: int) -> FactorGraph:
    """The forest of the factors with the widest tables, factors that forbid, expectations of the others."""
    from fieldcraft.structures.graphs.forests import strongest_forest

    inside, guess = strongest_forest(graph)
    obeyed = _with_hard(graph, inside, n_jobs)
    return _approximated(graph, obeyed, guess)


def _with_hard(graph: FactorGraph, inside: list[Flags], n_jobs: int) -> list[Flags]:
    """The chosen factors and, in halves as long as the tree gets too wide, those that forbid something."""
    hard = [(g, k) for g, group in enumerate(graph.groups) for k in _forbidding(group.table)]
    hard = [(g, k) for g, k in hard if not inside[g][k]]
    chosen = [flags.copy() for flags in inside]

    def take(some: list[tuple[int, int]]) -> None:
        for g, k in some:
            chosen[g][k] = True
        if not some or fits(_restricted(graph, chosen).batch(), HARD_BYTES, n_jobs)[0]:
            return
        for g, k in some:
            chosen[g][k] = False
        if len(some) > 1:
            take(some[: len(some) // 2])
            take(some[len(some) // 2 :])

    take(hard)
    return chosen


def _forbidding(table: Floats) -> list[int]:
    return list(np.flatnonzero((table == -np.inf).any(axis=1)).tolist())


def _restricted(graph: FactorGraph, inside: list[Flags]) -> FactorGraph:
    """The graph with some of its factors alone."""
    other = FactorGraph(graph.cardinalities)
    other.observed = graph.observed
    for group, kept in zip(graph.groups, inside):
        if kept.any():
            other.add(group.scope[kept], group.table[kept])
    return other


def _approximated(graph: FactorGraph, inside: list[Flags], guess: list[Floats]) -> FactorGraph:
    """The factors inside, and expectations of the others under the guess at each variable's marginal."""
    other = _restricted(graph, inside)
    local = [np.zeros(int(states)) for states in graph.cardinalities]
    for group, kept in zip(graph.groups, inside):
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
