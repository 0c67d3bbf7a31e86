"""``method="quick"``: answers within a fraction of a second for graphs as large as images.

infer:  a junction tree where its tables are small, else a limited number of flooding sweeps.
decode: a junction tree where its tables are small, cuts where the factors allow them, else max-product.

"auto" spends up to a minute on a proof; this method is for training, which asks again and again, and for
grids, which are too wide to be solved exactly.
"""

from __future__ import annotations

from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs import cuts, junction_tree, propagation
from fieldcraft.structures.graphs.automatic import split
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.sizes import budget


def infer(
    batch: GraphBatch,
    *,
    n_jobs: int,
    memory: Any = "1MiB",
    max_iterations: int = 200,
    tolerance: float = 1e-5,
    damping: float = 0.5,
) -> list[Inference]:
    """Exact where that is cheap, else belief propagation.

    Parameters
    ----------
    memory : the most that the tables of a junction tree may take
    max_iterations, tolerance, damping : those of belief propagation by flooding, which on a grid of strong
        factors swings from one half of the cells to the other unless messages are damped
    """
    limit = budget(memory)

    def exact(part: GraphBatch) -> list[Inference]:
        return junction_tree.infer(part, n_jobs=n_jobs, memory=limit)

    def inexact(part: GraphBatch) -> list[Inference]:
        found = propagation.infer(
            part,
            n_jobs=n_jobs,
            schedule="flooding",
            max_iterations=max_iterations,
            tolerance=tolerance,
            damping=damping,
        )
        return [one._replace(why=f"the junction tree exceeds memory; {one.why}") for one in found]

    return split(batch, limit, n_jobs, exact, inexact)


def decode(
    batch: GraphBatch, *, n_jobs: int, memory: Any = "1MiB", max_iterations: int = 50
) -> list[Decoding]:
    """Exact where that is cheap, else cuts or max-product.

    Parameters
    ----------
    memory : the most that the tables of a junction tree may take
    max_iterations : of max-product
    """
    limit = budget(memory)

    def exact(part: GraphBatch) -> list[Decoding]:
        return junction_tree.decode(part, n_jobs=n_jobs, memory=limit)

    def inexact(part: GraphBatch) -> list[Decoding]:
        return [_decode_wide(part.part([i]), n_jobs, max_iterations) for i in range(len(part))]

    return split(batch, limit, n_jobs, exact, inexact)


def _decode_wide(batch: GraphBatch, n_jobs: int, max_iterations: int) -> Decoding:
    try:
        found = cuts.decode(batch, n_jobs=n_jobs)[0]
        return found._replace(why=f"the junction tree exceeds memory; {found.why}")
    except InputError as error:
        refused = str(error).split(";")[0]
        if "no assignment is possible" in refused:
            raise
    found = propagation.decode(batch, n_jobs=n_jobs, schedule="flooding", max_iterations=max_iterations)[0]
    return found._replace(why=f"the junction tree exceeds memory; {refused}; {found.why}")
