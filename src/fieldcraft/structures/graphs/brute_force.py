"""The sum over all assignments, written out as one table with an axis per variable; for small graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, GraphMarginals, Inference
from fieldcraft.structures.graph import FactorGraph
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.groups import Floats

MOST = 2**24  # assignments
WHY = "exact: every assignment was scored"


def infer(batch: GraphBatch, *, n_jobs: int) -> list[Inference]:
    """Exact log Z and marginals of graphs with at most 2^24 assignments."""
    del n_jobs
    return [_infer(batch.graph(i)) for i in range(len(batch))]


def decode(batch: GraphBatch, *, n_jobs: int) -> list[Decoding]:
    """A best assignment, the first of several in the order of counting."""
    del n_jobs
    return [_decode(batch.graph(i)) for i in range(len(batch))]


def _infer(graph: FactorGraph) -> Inference:
    joint = scores(graph)
    top = joint.max()
    _check_possible(top)
    mass = np.exp(joint - top)
    total = mass.sum()
    mass /= total
    axis = {int(v): k for k, v in enumerate(_axes(graph))}
    variables = [_onto(mass, axis, [v], graph) for v in range(graph.n_variables)]
    factors = [
        np.array([_onto(mass, axis, scope, graph) for scope in group.scope]).reshape(-1, *group.shape)
        for group in graph.groups
    ]
    log_z: Any = float(top + np.log(total))
    return Inference(log_z, GraphMarginals(variables, factors), method="brute_force", why=WHY)


def _decode(graph: FactorGraph) -> Decoding:
    joint = scores(graph)
    best = np.unravel_index(int(joint.argmax()), joint.shape)
    _check_possible(joint[best])
    assignment = graph.observed.clip(0).astype(np.int32)
    assignment[_axes(graph)] = best
    return Decoding(None, float(joint[best]), method="brute_force", why=WHY, assignment=assignment)


def scores(graph: FactorGraph) -> Floats:
    """Scores of all assignments, an axis for each variable that has a choice."""
    axes = _axes(graph)
    sizes = graph.cardinalities[axes]
    if np.prod(sizes.astype(float)) > MOST:
        raise InputError(
            f"brute force would score {np.prod(sizes.astype(float)):.3g} assignments, at most 2^24; "
            "use junction_tree"
        )
    axis = {int(v): k for k, v in enumerate(axes)}
    joint = np.zeros(tuple(sizes))
    for group in graph.groups:
        for scope, table in zip(group.scope, group.tables()):
            joint += _spread(table, scope, axis, graph, joint.ndim)
    return joint


def _axes(graph: FactorGraph) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Variables that have a choice."""
    return np.flatnonzero((graph.observed < 0) & (graph.cardinalities > 1))


def _spread(
    table: Floats,
    scope: np.ndarray[tuple[int], np.dtype[np.int32]],
    axis: dict[int, int],
    graph: FactorGraph,
    n: int,
) -> Floats:
    """A factor's table with its axes where the joint table has them."""
    cut = table[tuple(slice(None) if v in axis else max(0, int(graph.observed[v])) for v in map(int, scope))]
    kept = [axis[v] for v in map(int, scope) if v in axis]
    shape = [1] * n
    for k in kept:
        shape[k] = -1
    ordered = np.transpose(cut, np.argsort(kept))
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if size == -1 else 1 for size in shape])


def _onto(mass: Floats, axis: dict[int, int], scope: object, graph: FactorGraph) -> Floats:
    """The sums of the joint table by the states of a scope, in the scope's layout."""
    variables = [int(v) for v in np.atleast_1d(np.asarray(scope))]
    kept = [axis[v] for v in variables if v in axis]
    summed = mass.sum(axis=tuple(k for k in range(mass.ndim) if k not in kept))
    order = np.argsort(np.argsort(kept))
    full = np.zeros([graph.cardinalities[v] for v in variables])
    place = tuple(slice(None) if v in axis else max(0, int(graph.observed[v])) for v in variables)
    full[place] = np.transpose(summed, order)
    return full


def _check_possible(top: float) -> None:
    if top == -np.inf:
        raise InputError(
            "no assignment is possible: every one has a factor that forbids it (-inf); allow some"
        )
