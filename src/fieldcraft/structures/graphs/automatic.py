"""``method="auto"``: the first method of a fixed list that is feasible, and why.

infer:  forest, junction tree within ``memory``, propagation along trees; where that does not converge, the
residual
schedule with damping 0.5, and of two that did not converge the one with the smaller residual.
decode: forest, junction tree, cuts where they are exact, integer programme up to 20,000 table entries, cuts
where the
factors allow them, dual decomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs import (
    cuts,
    dual_decomposition,
    junction_tree,
    linear_programme,
    propagation,
)
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.sizes import budget

MOST_ENTRIES = 20_000  # of tables, for an integer programme
SECONDS = 60.0  # for it
Answer = TypeVar("Answer", Inference, Decoding)


def infer(
    batch: GraphBatch,
    *,
    n_jobs: int,
    memory: Any = "1GiB",
    max_iterations: int = 1000,
    tolerance: float = 1e-8,
) -> list[Inference]:
    """Exact where that is feasible, else belief propagation.

    Parameters
    ----------
    memory : the most that the tables of a junction tree may take
    max_iterations, tolerance : those of belief propagation
    """
    limit = budget(memory)

    def exact(part: GraphBatch) -> list[Inference]:
        return junction_tree.infer(part, n_jobs=n_jobs, memory=limit)

    def inexact(part: GraphBatch) -> list[Inference]:
        options: dict[str, Any] = {"max_iterations": max_iterations, "tolerance": tolerance}
        first = propagation.infer(part, n_jobs=n_jobs, schedule="tree", **options)
        again = [i for i, one in enumerate(first) if not one.converged]
        options |= {"schedule": "residual", "damping": 0.5}
        for i, one in zip(
            again, propagation.infer(part.part(again), n_jobs=n_jobs, **options) if again else []
        ):
            if one.converged or one.residual < first[i].residual:
                first[i] = one
        return [
            one._replace(
                why=f"the junction tree exceeds memory; {one.why}{'' if one.converged else UNCONVERGED}"
            )
            for one in first
        ]

    return _split(batch, limit, n_jobs, exact, inexact)


UNCONVERGED = "; neither the tree nor the residual schedule converged"


def decode(batch: GraphBatch, *, n_jobs: int, memory: Any = "1GiB") -> list[Decoding]:
    """A best assignment where that is feasible.

    Parameters
    ----------
    memory : the most that the tables of a junction tree may take
    """
    limit = budget(memory)

    def exact(part: GraphBatch) -> list[Decoding]:
        return junction_tree.decode(part, n_jobs=n_jobs, memory=limit)

    def inexact(part: GraphBatch) -> list[Decoding]:
        return [_decode_wide(part.part([i]), n_jobs) for i in range(len(part))]

    return _split(batch, limit, n_jobs, exact, inexact)


def _decode_wide(batch: GraphBatch, n_jobs: int) -> Decoding:
    """For a graph without a junction tree that fits."""
    cut: Decoding | None = None
    try:
        cut = cuts.decode(batch, n_jobs=n_jobs)[0]
        refused = "cuts are not exact"
    except InputError as error:
        refused = str(error).split(";")[0]
        if "no assignment is possible" in refused:
            raise
    if cut is not None and cut.optimal:
        return cut._replace(why=f"the junction tree exceeds memory; {cut.why}")
    size = linear_programme.n_entries(batch.graphs[0])
    if size <= MOST_ENTRIES:
        found = linear_programme.decode_integer(batch, n_jobs=n_jobs, seconds=SECONDS)[0]
        reason = f"{refused}; {size:,} table entries: {found.why}"
    elif cut is not None:
        found, reason = cut, f"more than {MOST_ENTRIES:,} table entries; {cut.why}"
    else:
        found = dual_decomposition.decode(batch, n_jobs=n_jobs)[0]
        reason = f"{refused}; more than {MOST_ENTRIES:,} table entries; {found.why}"
    return found._replace(why=f"the junction tree exceeds memory; {reason}")


def _split(
    batch: GraphBatch,
    limit: float,
    n_jobs: int,
    exact: Callable[[GraphBatch], list[Answer]],
    inexact: Callable[[GraphBatch], list[Answer]],
) -> list[Answer]:
    """Graphs whose junction tree fits go one way, the others the other; forests are called so."""
    fits, forests = junction_tree.fits(batch, limit, n_jobs), _core.graphs_are_forests(batch.handle)
    answers: list[Answer | None] = [None] * len(batch)
    for way, chosen in ((exact, _where(fits, True)), (inexact, _where(fits, False))):
        for i, answer in zip(chosen, way(batch.part(chosen)) if chosen else []):
            answers[i] = answer
    for i, forest in enumerate(forests):
        found = answers[i]
        if forest and fits[i] and found is not None:
            answers[i] = found._replace(method="forest", why="exact: the graph has no cycle")
    return [answer for answer in answers if answer is not None]


def _where(flags: Sequence[bool], value: bool) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag == value]
