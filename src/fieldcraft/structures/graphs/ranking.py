"""The k best assignments of a graph."""

from __future__ import annotations

from typing import Any

from fieldcraft import _core
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.junction_tree import fits
from fieldcraft.structures.graphs.linear_programme import ranked
from fieldcraft.structures.graphs.sizes import budget


def k_best(batch: GraphBatch, k: int, memory: Any) -> list[Decoding]:
    """Of a batch of one graph; fewer than k where there are not so many possible ones."""
    limit = budget(memory)
    if fits(batch, limit, 1)[0]:
        with batch.errors():
            ((found, scores),) = _core.graph_k_best(*batch.inputs, k, "min_fill", limit, 1)
        why = "exact: lists of the best completions in a junction tree"
        return [
            Decoding(None, float(score), method="junction_tree", why=why, assignment=row)
            for row, score in zip(found, scores)
        ]
    return ranked(batch, k)
