"""Assignments drawn from a graph's distribution."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.memory import check_memory
from fieldcraft.structures.graphs import gibbs
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.junction_tree import fits
from fieldcraft.structures.graphs.methods import choice
from fieldcraft.structures.graphs.sizes import budget


def sample(
    batch: GraphBatch, n: int, seed: int, method: str, memory: Any, options: dict[str, Any]
) -> NDArray[np.int32]:
    """n assignments of a batch of one graph."""
    choice("method", method, ("auto", "junction_tree", "gibbs"))
    limit, width = budget(memory), batch.graphs[0].n_variables
    check_memory(4 * n * width, f"{n:,} samples of {width:,} variables", "draw fewer at a time")
    if method == "junction_tree" or (method == "auto" and fits(batch, limit, 1)[0]):
        with batch.errors():
            (exact,) = _core.graph_sample(*batch.inputs, n, seed % 2**64, "min_fill", limit, 1)
        return np.asarray(exact, np.int32)
    if method == "auto":
        warnings.warn(
            "the junction tree exceeds memory; the samples are successive sweeps of a Gibbs sampler, "
            "which depend on one another",
            stacklevel=3,
        )
    settings = {"burn_in": 200, "blocks": "none", **options}
    ((_, _, drawn),) = gibbs.draw(
        batch, max(1, n), settings.pop("burn_in"), 1, settings.pop("blocks"), seed, 1, keep=True
    )
    if settings:
        raise InputError(f"gibbs has no option {next(iter(settings))!r}; its options are: burn_in, blocks")
    return np.asarray(drawn[:n], np.int32)
