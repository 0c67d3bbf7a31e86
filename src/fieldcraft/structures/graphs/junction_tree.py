"""Exact answers by junction trees; on forests their cliques are the scopes of the factors."""

from __future__ import annotations

from typing import Any

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.extent import Width
from fieldcraft.structures.graphs.sizes import budget

UNLIMITED = float("inf")
WHY = "exact: junction tree"


def infer(
    batch: GraphBatch, *, n_jobs: int, memory: Any = "1GiB", order: str = "min_fill"
) -> list[Inference]:
    """Exact log Z and marginals.

    Parameters
    ----------
    memory : the most that the tables of one graph's cliques may take; refused beyond it
    order : how to triangulate: "min_fill" or "min_degree"
    """
    limit = budget(memory)
    with batch.errors():
        found = _core.graph_infer(*batch.inputs, order, limit, n_jobs)
    return batch.inferences(found, method="junction_tree", why=WHY)


def decode(
    batch: GraphBatch, *, n_jobs: int, memory: Any = "1GiB", order: str = "min_fill"
) -> list[Decoding]:
    """A best assignment."""
    limit = budget(memory)
    with batch.errors():
        found = _core.graph_decode(*batch.inputs, order, limit, n_jobs)
    return batch.decodings(found, method="junction_tree", why=WHY)


def infer_forest(batch: GraphBatch, *, n_jobs: int) -> list[Inference]:
    """Sum-product on graphs without cycles."""
    check_forests(batch)
    with batch.errors():
        found = _core.graph_infer(*batch.inputs, "min_degree", UNLIMITED, n_jobs)
    return batch.inferences(found, method="forest", why="exact: the graph has no cycle")


def decode_forest(batch: GraphBatch, *, n_jobs: int) -> list[Decoding]:
    """Max-product on graphs without cycles."""
    check_forests(batch)
    with batch.errors():
        found = _core.graph_decode(*batch.inputs, "min_degree", UNLIMITED, n_jobs)
    return batch.decodings(found, method="forest", why="exact: the graph has no cycle")


def check_forests(batch: GraphBatch) -> None:
    """InputError where a graph has a cycle."""
    forests = _core.graphs_are_forests(batch.handle)
    if not all(forests):
        where = f"graph {forests.index(False)}" if len(batch) > 1 else "the graph"
        raise InputError(f"{where} has a cycle of factors; use junction_tree, or propagation on wide graphs")


def fits(batch: GraphBatch, limit: float, n_jobs: int) -> list[bool]:
    """Whether the tables of each graph's junction tree take at most ``limit`` bytes."""
    return list(_core.graphs_fit(batch.handle, "min_fill", limit, n_jobs))


def width(batch: GraphBatch, order: str) -> Width:
    """Of the first graph; triangulated as far as an exabyte."""
    with batch.errors():
        _, variables, cells, _, complete = _core.graph_triangulate(batch.handle, 0, order, 2.0**60)
    return Width(variables, 8 * cells, _core.graphs_are_forests(batch.handle)[0], complete)
