"""``method="auto"``: the first method of a fixed list that is feasible, and why.

infer:  forest, junction tree within ``memory``, propagation along trees; where that does not converge, the
residual schedule with damping 0.5, and of two that did not converge the one with the smaller residual.
decode: forest, junction tree, cuts where they are exact, integer programme up to 20,000 table entries, cuts
where the factors allow them, dual decomposition.

Without ``max_iterations`` propagation does 1,000 iterations at most, and on large graphs only as many as
visit a fixed number of table entries: it ends in well under a minute, and says that it ended early.
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
MOST_ITERATIONS = 1000
TREE_VISITS, RESIDUAL_VISITS = 250_000_000, 10_000_000  # of table entries: some 15 seconds each
FEWEST_ITERATIONS = 5
Answer = TypeVar("Answer", Inference, Decoding)


def infer(
    batch: GraphBatch,
    *,
    n_jobs: int,
    memory: Any = "1GiB",
    max_iterations: int | None = None,
    tolerance: float = 1e-8,
) -> list[Inference]:
    """Exact where that is feasible, else belief propagation.

    Parameters
    ----------
    memory : the most that the tables of a junction tree may take
    max_iterations, tolerance : those of belief propagation; None for 1,000, and fewer on large graphs
    """
    limit = budget(memory)

    def exact(part: GraphBatch) -> list[Inference]:
        return junction_tree.infer(part, n_jobs=n_jobs, memory=limit)

    def inexact(part: GraphBatch) -> list[Inference]:
        options: dict[str, Any] = {"tolerance": tolerance, "n_jobs": n_jobs}
        found = _propagated(part, TREE_VISITS, max_iterations, schedule="tree", **options)
        again = [i for i, one in enumerate(found) if not one.converged]
        options |= {"schedule": "residual", "damping": 0.5}
        others = _propagated(part.part(again), RESIDUAL_VISITS, max_iterations, **options) if again else []
        for i, one in zip(again, others):
            if one.converged or one.residual < found[i].residual:
                found[i] = one
        return [
            one._replace(why=f"the junction tree exceeds memory; {one.why}{_ending(one)}") for one in found
        ]

    return split(batch, limit, n_jobs, exact, inexact)


def _ending(one: Inference) -> str:
    return "" if one.converged else UNCONVERGED


def _propagated(
    batch: GraphBatch, visits: int, max_iterations: int | None, **options: Any
) -> list[Inference]:
    """Graphs with the same number of iterations go together."""
    sizes = [max(1, linear_programme.n_entries(graph)) for graph in batch.graphs]
    most = [max(FEWEST_ITERATIONS, min(MOST_ITERATIONS, visits // size)) for size in sizes]
    if max_iterations is not None:
        most = [max_iterations] * len(batch)
    answers: dict[int, Inference] = {}
    for limit in sorted(set(most)):
        chosen = _where([one == limit for one in most], True)
        for i, one in zip(chosen, propagation.infer(batch.part(chosen), max_iterations=limit, **options)):
            early = max_iterations is None and limit < MOST_ITERATIONS and not one.converged
            answers[i] = one._replace(why=one.why + LARGE.format(limit)) if early else one
    return [answers[i] for i in range(len(batch))]


LARGE = "; ended after {} iterations because the graph is large (max_iterations= allows more)"
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

    return split(batch, limit, n_jobs, exact, inexact)


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


def split(
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
