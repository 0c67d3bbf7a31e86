"""What all training problems share: a loss of the data plus the parts of a prior.

    f(w) = loss(w) + smooth penalties,    F(w) = f(w) + sum above max(w, 0) + below max(-w, 0)

``value_and_gradient`` is the smooth part f; the absolute-value part is given as strengths, because it has
no gradient at zero. A feature mask keeps weights at zero; ``reduce`` adds up values and gradients of
several processes (distributed.py), which then all have the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.objectives import Likelihood, Objective
from fieldcraft.priors import Prior
from fieldcraft.problems.curvatures import crowd, curvatures, scales
from fieldcraft.problems.protocols import Shared
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
P = ParamSpec("P")
T = TypeVar("T")


class Reduce(Protocol):
    """Adds up over processes that have a part of the corpus each; ``distributed.Ranks`` is one."""

    def __call__(self, value: float, vector: Floats, /) -> float:
        """The sum of the values; the vectors are added up in place."""

    def largest(self, vector: Floats, /) -> None:
        """Replace each number by the largest of all processes."""

    def agreed(self) -> AbstractContextManager[None]:
        """Where an error of one process is raised in all of them."""

    def part_of(self, n: int, /) -> slice:
        """The part of a vector that this process takes care of, where work on vectors is divided."""

    def join(self, vector: Floats, /) -> None:
        """Replace each part of a vector by that of the process that takes care of it."""

    def collect(self, item: Any, /) -> list[Any]:
        """The items of all processes in the first one, an empty list in the others."""


class Penalised:
    """A loss with a prior; subclasses write ``loss`` and ``losses``.

    Parameters
    ----------
    structure : what the potentials are for
    design : encoded corpus with its feature index and gold labels
    prior : penalty on the weights
    objective : the loss; None for the likelihood
    costs : [Y, Y] for the margins
    label_weights : [Y] >= 0, how much the terms of gold labels count
    sequence_weights : [N] >= 0, how much each sequence counts
    mask : [F] True where a weight may differ from zero
    n_jobs : threads
    reduce : adds up values and gradients of several processes
    curved : will the optimiser ask for curvatures
    """

    def __init__(
        self,
        structure: Structure,
        design: Design,
        prior: Prior,
        *,
        objective: Objective | None = None,
        costs: Floats | None = None,
        label_weights: Floats | None = None,
        sequence_weights: Floats | None = None,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
        reduce: Reduce | None = None,
        curved: bool = False,
    ) -> None:
        n = self.n_variables = len(design.index)
        self.n_jobs, self.mask, self.ranks = n_jobs, mask, reduce
        self.objective: Objective = Likelihood() if objective is None else objective
        self.convex, self.n_sequences = self.objective.convex, design.n_sequences
        self.sizes = (len(design.gold), design.n_sequences, structure.n_states)
        self._costs, self._label_weights, self._sequence_weights = costs, label_weights, sequence_weights
        self.l1, self.bounds = prior.l1_part(n), prior.bounds_part(n)
        self._quadratic, self._smooth = prior.quadratic_part(n), prior.smooth_part(n)
        self._curvatures = curvatures(design, structure, prior, reduce) if curved else None
        self._crowd, self._scales = crowd(design, reduce), scales(design, reduce)
        self._finite = False  # was a value finite yet

    @property
    def lost_mass(self) -> float | None:
        """With a beam, what it dropped in the last evaluation; None without."""
        return None

    def loss(self, weights: Floats, gradient: Floats) -> float:
        """The data's part; its gradient is written into ``gradient``."""
        raise NotImplementedError

    def losses(self, weights: Floats) -> Floats:
        """[N] the loss of each sequence."""
        raise NotImplementedError

    def overflow(self, weights: Floats) -> FieldcraftError:
        """Names the first sequence whose loss is not finite, or the largest where only the sum is not."""
        losses = self.losses(weights)
        return self.objective.overflow(int(np.argmax(np.where(np.isfinite(losses), losses, np.inf))))

    def prepare(self) -> None:
        """Allocate what evaluations need; after the design, which is no longer needed, was freed."""

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        """f(w); the gradient is written into ``gradient``."""
        value = self.quadratic_loss(weights, gradient)
        if self._smooth is not None:
            value += self._smooth(weights, gradient)
        if self.mask is not None:
            gradient[~self.mask] = 0.0
        return float(value)

    def value(self, weights: Floats) -> float:
        """f(w) alone, which is cheaper where the problem can compute it by itself."""
        return self.value_and_gradient(weights, np.empty_like(weights))

    def quadratic_loss(self, weights: Floats, gradient: Floats) -> float:
        """``reduced_loss`` and the quadratic penalty."""
        value = self.reduced_loss(weights, gradient)
        if self._quadratic is not None:
            value += _core.gaussian(weights, *self._quadratic, gradient, self.n_jobs)
        return value

    def reduced_loss(self, weights: Floats, gradient: Floats) -> float:
        """``loss`` over all processes; an error where the first one is not finite."""
        value = self.loss(weights, gradient)
        if self.ranks is None:
            self.refuse_overflow(value, weights)
            return value
        total = self.ranks(value, gradient)
        if not (self._finite or math.isfinite(total)):
            with self.ranks.agreed():
                self.refuse_overflow(value, weights)
        self._finite = True
        return total

    def refuse_overflow(self, value: float, weights: Floats) -> None:
        """An error where the first value is not finite; later a search that went too far turns back."""
        if not (self._finite or math.isfinite(value)):
            raise self.overflow(weights)
        self._finite = True

    def l1_value(self, weights: Floats) -> float:
        """The absolute-value part of the penalty."""
        return 0.0 if self.l1 is None else float(_core.l1_norm(weights, *self.l1, self.n_jobs))

    @property
    def quadratic(self) -> Pair:
        """(mean, precision) of the quadratic part; zeros without."""
        return (np.zeros(1), np.zeros(1)) if self._quadratic is None else self._quadratic

    def penalty(self, weights: Floats) -> float:
        """The quadratic and the absolute-value part of the objective."""
        smooth = _core.gaussian(weights, *self.quadratic, np.zeros_like(weights), self.n_jobs)
        return float(smooth) + self.l1_value(weights)

    def curvatures(self) -> Floats | None:
        """[F] about the diagonal of the Hessian at zero weights; None if the problem was built without."""
        return self._curvatures

    def scales(self) -> Floats | None:
        """[F] the size of the values of each weight's attribute; None if all are about 1."""
        return self._scales

    def shared(self, start: Floats) -> tuple[Shared, Floats] | None:
        """The problem with one variable for all weights that act as one; see protocols.py."""
        del start
        return None

    def first_step(self, gradient: Floats, out: Floats) -> bool:
        """Write -gradient / (curvature * crowd) into ``out``; False where curvatures are not known."""
        if self._curvatures is None:
            return False
        np.divide(gradient, -self._crowd * self._curvatures, out=out)
        return True


def check_weights(weights: Any, n_sequences: int) -> Floats | None:
    """Sequence weights as a vector, or an InputError."""
    if weights is None:
        return None
    try:
        vector = np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"sample_weight is not a list of numbers; one per sequence ({n_sequences}) is needed"
        ) from None
    if vector.shape != (n_sequences,):
        raise InputError(
            f"sample_weight has shape {vector.shape}; one number per sequence ({n_sequences}) is needed"
        )
    if not np.all(np.isfinite(vector)) or np.any(vector < 0):
        at = int(np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))[0])
        raise InputError(f"sample_weight[{at}] is {vector[at]}; weights must be finite and not negative")
    return vector


def check_mask(mask: Any, n_weights: int) -> NDArray[np.bool_] | None:
    """A feature mask as booleans, or an InputError."""
    if mask is None:
        return None
    vector = np.asarray(mask)
    if vector.dtype != bool or vector.shape != (n_weights,):
        raise InputError(
            f"feature_mask has shape {vector.shape} and type {vector.dtype}; "
            f"one bool per weight ({n_weights}) is needed"
        )
    return vector


def release_memory() -> None:
    """Return freed memory to the system: large arrays were freed, and others will be allocated."""
    _core.release_memory()


def crew(n_jobs: int) -> AbstractContextManager[Any]:
    """Threads that wait for the evaluations and the vector work of one training."""
    return _core.Crew(n_jobs)


def with_crew(method: Callable[P, T]) -> Callable[P, T]:
    """A method of an object with ``n_jobs``, for whose parts the same threads stay."""

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with crew(args[0].n_jobs):  # type: ignore[attr-defined]
            return method(*args, **kwargs)

    return called
