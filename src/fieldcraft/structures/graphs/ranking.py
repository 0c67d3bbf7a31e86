"""The k best assignments of a graph."""

from __future__ import annotations

from typing import Any

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.junction_tree import bytes_needed
from fieldcraft.structures.graphs.sizes import read_bytes


def k_best(batch: GraphBatch, k: int, memory: Any) -> list[Decoding]:
    """Of a batch of one graph; fewer than k where there are not so many possible ones."""
    limit = read_bytes(memory)
    if bytes_needed(batch, 0, limit) <= limit:
        with batch.errors():
            ((found, scores),) = _core.graph_k_best(*batch.inputs, k, "min_fill", limit, 1)
        why = "exact: lists of the best completions in a junction tree"
        return [
            Decoding(None, float(score), method="junction_tree", why=why, assignment=row)
            for row, score in zip(found, scores)
        ]
    raise InputError("the junction tree does not fit into memory; raise memory=")
