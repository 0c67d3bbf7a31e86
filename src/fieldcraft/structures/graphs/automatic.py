"""``method="auto"``: the first method of a fixed list that is feasible, and why."""

from __future__ import annotations

from typing import Any

from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs import junction_tree
from fieldcraft.structures.graphs.batch import GraphBatch


def infer(batch: GraphBatch, *, n_jobs: int, memory: Any = "1GiB") -> list[Inference]:
    """Forests and junction trees within ``memory``."""
    return junction_tree.infer(batch, n_jobs=n_jobs, memory=memory)


def decode(batch: GraphBatch, *, n_jobs: int, memory: Any = "1GiB") -> list[Decoding]:
    """Forests and junction trees within ``memory``."""
    return junction_tree.decode(batch, n_jobs=n_jobs, memory=memory)
