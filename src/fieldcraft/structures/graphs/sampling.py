"""Assignments drawn from a graph's distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.memory import check_memory
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.junction_tree import bytes_needed
from fieldcraft.structures.graphs.methods import choice
from fieldcraft.structures.graphs.sizes import read_bytes


def sample(
    batch: GraphBatch, n: int, seed: int, method: str, memory: Any, options: dict[str, Any]
) -> NDArray[np.int32]:
    """n assignments of a batch of one graph."""
    choice("method", method, ("auto", "junction_tree", "gibbs"))
    limit, width = read_bytes(memory), batch.graphs[0].n_variables
    check_memory(4 * n * width, f"{n:,} samples of {width:,} variables", "draw fewer at a time")
    if method == "junction_tree" or (method == "auto" and bytes_needed(batch, 0, limit) <= limit):
        with batch.errors():
            drawn = _core.graph_sample(*batch.inputs, n, seed % 2**64, "min_fill", limit, 1)
        return np.asarray(drawn[0], np.int32)
    del options
    raise InputError("the junction tree does not fit into memory; raise memory=")
