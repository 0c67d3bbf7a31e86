"""Dual decomposition: factors and variables maximise on their own, multipliers make them agree."""

from __future__ import annotations

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.icm import improved
from fieldcraft.structures.graphs.methods import choice
from fieldcraft.structures.graphs.propagation import positive

UPDATES = ("mplp", "subgradient")


def decode(
    batch: GraphBatch,
    *,
    n_jobs: int,
    updates: str = "mplp",
    max_iterations: int = 1000,
    tolerance: float = 1e-7,
) -> list[Decoding]:
    """An assignment, and the smallest upper bound on the best score that the dual reached.

    Parameters
    ----------
    updates : "mplp" (block after block, the bound never rises) or "subgradient"
    tolerance : converged when a sweep lowers the bound by less, relative to the bound
    """
    subgradient = choice("updates", updates, UPDATES) == "subgradient"
    most = whole_number(max_iterations, "max_iterations", 1)
    with batch.errors():
        found = _core.graph_dual(*batch.inputs, subgradient, most, positive("tolerance", tolerance), n_jobs)
    found = improved(batch, found, n_jobs)
    return batch.decodings(found, method="dual_decomposition", why=f"dual bound; updates: {updates}")
