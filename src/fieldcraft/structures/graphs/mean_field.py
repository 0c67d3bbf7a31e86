"""Mean field: the closest independent variables, and a lower bound on log Z."""

from __future__ import annotations

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.propagation import positive


def infer(
    batch: GraphBatch, *, n_jobs: int, max_iterations: int = 1000, tolerance: float = 1e-8
) -> list[Inference]:
    """Coordinate ascent, variable after variable.

    Parameters
    ----------
    tolerance : converged when no probability changes by more in a sweep
    """
    most = whole_number(max_iterations, "max_iterations", 1)
    with batch.errors():
        found = _core.graph_mean_field(*batch.inputs, most, positive("tolerance", tolerance), n_jobs)
    why = "a lower bound: independent variables"
    return batch.inferences(found, bound="lower", method="mean_field", why=why)
