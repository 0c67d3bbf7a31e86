"""Iterated conditional modes: each variable in turn takes its best state given the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graphs.batch import GraphBatch


def decode(
    batch: GraphBatch, *, n_jobs: int, max_iterations: int = 1000, start: Any = None
) -> list[Decoding]:
    """A local optimum, from ``start`` (a list of assignments) or from each variable's own best state.

    The upper bound behind the gap is the sum of every factor's best entry.
    """
    most = whole_number(max_iterations, "max_iterations", 1)
    given = np.full(len(batch.states), -1, np.int32)
    if start is not None:
        given = np.ascontiguousarray(np.concatenate([np.asarray(one) for one in start]), np.int32)
    with batch.errors():
        found = _core.graph_icm(*batch.inputs, given, most, n_jobs)
    return batch.decodings(found, method="icm", why="a local optimum: no single change improves it")


def improved(batch: GraphBatch, found: dict[str, Any], n_jobs: int) -> dict[str, Any]:
    """Assignments that no single change improves, with the bounds that they came with."""
    with batch.errors():
        better = _core.graph_icm(*batch.inputs, found["assignment"], 1000, n_jobs)
    return {**found, "assignment": better["assignment"], "value": better["value"]}
