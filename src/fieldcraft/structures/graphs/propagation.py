"""Loopy belief propagation: exact on forests, an estimate elsewhere; also reweighted by trees.

Schedules: ``flooding`` (all messages at once), ``sequential`` (factor after factor, to and fro), ``residual``
(what changes most first), ``tree`` (along spanning forests in turn; an iteration is one forest).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.structures.answers import Decoding, Inference
from fieldcraft.structures.graphs.batch import GraphBatch
from fieldcraft.structures.graphs.methods import choice

BOUND_SWEEPS = 20  # of dual decomposition, for the upper bound of an assignment
# Messages can agree around a cycle where no assignment does: three neighbours, two states, all to differ.
UNPROVED = "; configurations are forbidden (-inf), and messages do not prove that any assignment is possible"
SCHEDULES = ("flooding", "sequential", "residual", "tree")


def infer(
    batch: GraphBatch,
    *,
    n_jobs: int,
    schedule: str = "tree",
    max_iterations: int = 1000,
    tolerance: float = 1e-8,
    damping: float = 0.0,
    reweighted: bool = False,
) -> list[Inference]:
    """Sum-product; log Z is the Bethe estimate.

    Parameters
    ----------
    schedule : flooding, sequential, residual or tree
    tolerance : converged when no entry of a message, scaled to a largest of 1, changes by more
    damping : how much of the old message stays, in [0, 1)
    reweighted : by trees; log Z is then an upper bound, as with the method ``tree_reweighted``
    """
    options = checked(schedule, max_iterations, tolerance, damping)
    with batch.errors():
        found = _core.graph_propagate(*batch.inputs, *options, reweighted=reweighted, n_jobs=n_jobs)
    doubt = UNPROVED if (batch.tables == -np.inf).any() else ""
    if reweighted:
        why = _settings("an upper bound: the mean of log Z over spanning trees", options) + doubt
        return batch.inferences(found, bound="upper", method="tree_reweighted", why=why)
    forests = _core.graphs_are_forests(batch.handle)
    why = _settings("loopy", options) + doubt
    answers = batch.inferences(found, bound="estimate", method="propagation", why=why)
    return [
        one._replace(bound="exact", why=_settings("the graph has no cycle", options))
        if forest and one.converged
        else one
        for one, forest in zip(answers, forests)
    ]


def infer_reweighted(
    batch: GraphBatch,
    *,
    n_jobs: int,
    schedule: str = "sequential",
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
    damping: float = 0.0,
) -> list[Inference]:
    """Tree-reweighted sum-product: an upper bound on log Z, whether or not it converged."""
    return infer(
        batch,
        n_jobs=n_jobs,
        schedule=schedule,
        max_iterations=max_iterations,
        tolerance=tolerance,
        damping=damping,
        reweighted=True,
    )


def decode(
    batch: GraphBatch,
    *,
    n_jobs: int,
    schedule: str = "tree",
    max_iterations: int = 500,
    tolerance: float = 1e-8,
    damping: float = 0.0,
    reweighted: bool = False,
) -> list[Decoding]:
    """Max-product, improved variable by variable; the gap is that of a dual bound."""
    from fieldcraft.structures.graphs.icm import improved

    options = checked(schedule, max_iterations, tolerance, damping)
    with batch.errors():
        found = _core.graph_maximise(*batch.inputs, *options, reweighted=reweighted, n_jobs=n_jobs)
        dual = _core.graph_dual(*batch.inputs, False, BOUND_SWEEPS, 1e-6, n_jobs)
    name = "tree-reweighted max-product" if reweighted else "max-product"
    found = improved(batch, {**found, "bound": np.minimum(found["bound"], dual["bound"])}, n_jobs)
    return batch.decodings(found, method="propagation", why=_settings(name, options))


def checked(schedule: Any, max_iterations: Any, tolerance: Any, damping: Any) -> tuple[Any, Any, Any, Any]:
    """The options that schedules have."""
    name = choice("schedule", schedule, SCHEDULES)
    most = whole_number(max_iterations, "max_iterations", 1)
    return name, most, positive("tolerance", tolerance), _damping(damping)


def positive(name: str, value: Any) -> float:
    """A number that is not negative."""
    if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise InputError(f"{name} is {value!r}; it must be a number >= 0")
    return float(value)


def _damping(value: Any) -> float:
    if not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise InputError(f"damping is {value!r}; it must be in [0, 1)")
    return float(value)


def _settings(why: str, options: tuple[Any, Any, Any, Any]) -> str:
    damped = f", damping {options[3]:g}" if options[3] else ""
    return f"{why}; schedule {options[0]}{damped}"
