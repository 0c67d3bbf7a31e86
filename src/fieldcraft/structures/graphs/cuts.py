"""Minimum cuts: exact for two states and submodular factors, moves with a guarantee for more."""

from __future__ import annotations

import numpy as np

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.methods import choice

MOVES = ("expansion", "swap")
BOUND_SWEEPS = 20  # of dual decomposition, for the upper bound


def decode(
    batch: GraphBatch, *, n_jobs: int, moves: str = "expansion", max_iterations: int = 100
) -> list[Decoding]:
    """A best assignment (two states), or one that no move improves.

    Pairs must be submodular; with more states a metric (expansion) or semi-metric (swap). Factors of more
    variables
    must score equal states alone. Others are refused by name.

    Parameters
    ----------
    moves : "expansion": variables may take a state; "swap": those in one of two states may change places
    """
    name = choice("moves", moves, MOVES)
    most = whole_number(max_iterations, "max_iterations", 1)
    with batch.errors():
        found = _core.graph_cut(*batch.inputs, name, most, n_jobs)
        exact = found["bound"] == found["value"]
        if not exact.all():
            dual = _core.graph_dual(*batch.inputs, False, BOUND_SWEEPS, 1e-6, n_jobs)
            found["bound"] = np.where(exact, found["value"], np.minimum(found["bound"], dual["bound"]))
    answers = batch.decodings(found, method="cuts")
    whys = ("no " + name + " move improves it; the bound is a dual one", "exact: a minimum cut")
    return [one._replace(why=whys[int(cut)]) for one, cut in zip(answers, exact)]
