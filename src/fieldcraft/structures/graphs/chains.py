"""Chains as factor graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fieldcraft.structures.chain import steps
from fieldcraft.structures.held import Held
from fieldcraft.structures.states import StateSpace

if TYPE_CHECKING:
    from fieldcraft.structures.graph import FactorGraph


def from_chain(node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace) -> FactorGraph:
    """A variable per token; starts and stops are part of the first and last node scores."""
    from fieldcraft.structures.graph import FactorGraph

    held = Held(node, edge, offsets, states)
    n, S = held.node.shape
    graph = FactorGraph(np.full(n, S, np.int32))
    scores, ends = held.node.copy(), held.offsets
    full = np.diff(ends) > 0
    scores[ends[:-1][full]] += np.where(states.starts, 0.0, -np.inf)
    scores[ends[1:][full] - 1] += np.where(states.stops, 0.0, -np.inf)
    if n:
        graph.add(np.arange(n, dtype=np.int32)[:, None], scores)
    at = steps(ends)
    if len(at):
        pairs = held.edge.reshape(-1, S, S)
        rows = pairs[at] if len(pairs) == n and np.ndim(edge) == 2 else pairs[0]
        graph.add(np.stack([at - 1, at], axis=1), rows)
    return graph
