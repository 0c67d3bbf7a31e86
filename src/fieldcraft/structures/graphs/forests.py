"""A spanning forest of the factors that say most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.groups import Floats


def strongest_forest(graph: FactorGraph) -> tuple[list[NDArray[np.bool_]], list[Floats]]:
    """Which factors of each group are in the forest, and a guess at each variable's marginal.

    Factors are taken by the spread of their tables, widest first, unless they would close a cycle. The guess
    is the
    distribution of the single-variable factors alone.
    """
    root = list(range(graph.n_variables))
    inside = [np.zeros(len(group.scope), bool) for group in graph.groups]
    spread = []
    for g, group in enumerate(graph.groups):
        finite = np.where(group.table == -np.inf, -20.0, group.table)
        spread += [(-s, g, k) for k, s in enumerate((finite.max(axis=1) - finite.min(axis=1)).tolist())]
    for _, g, k in sorted(spread, key=lambda row: (graph.groups[row[1]].scope.shape[1] > 1, row)):
        scope = graph.groups[g].scope[k]
        free = [int(v) for v in scope if graph.observed[v] < 0]
        roots = {_find(root, v) for v in free}
        if len(roots) == len(free) or len(free) < 2:
            inside[g][k] = True
            first = next(iter(roots), None)
            for r in roots:
                root[r] = first if first is not None else r
    guess = [np.zeros(int(states)) for states in graph.cardinalities]
    for group in graph.groups:
        if group.scope.shape[1] == 1:
            for v, table in zip(group.scope[:, 0], group.table):
                guess[v] = guess[v] + np.where(table == -np.inf, -50.0, table)
    for v, scores in enumerate(guess):
        mass = np.exp(scores - scores.max())
        guess[v] = mass / mass.sum()
        if graph.observed[v] >= 0:
            guess[v] = np.eye(len(mass))[graph.observed[v]]
    return inside, guess


def _find(root: list[int], v: int) -> int:
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v
