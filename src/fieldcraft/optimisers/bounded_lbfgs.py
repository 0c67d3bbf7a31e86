"""L-BFGS with a lower and an upper bound for each weight: Bertsekas's two-metric projection.

    minimise f(w)   subject to   lower <= w <= upper

A weight is *fixed* when it is at a bound, or within ``reach`` of it, and the gradient pushes it there.
Fixed weights move by steepest descent, all others by the quasi-Newton direction of the space that they
span (the memory's pairs, cut to it), so the two parts do not mix and the direction goes down. The search
follows the projected arc w(a) = clip(w + a d) until

    f(w(a)) <= f(w) + c1 <gradient, w(a) - w>

The measure of optimality is the projected gradient: 0 where a weight is at its bound and pushed outwards.

A penalty with absolute values has its kinks on bounds once every weight is the difference of two that are not
negative (problems/split_variables.py): the same method then minimises it.
D. P. Bertsekas, Projected Newton methods for optimization problems with simple constraints, 1982.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.line_search import ROUNDING, SUFFICIENT
from fieldcraft.optimisers.quasi_newton import QuasiNewton, QuasiNewtonRun, metric_of
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Gradient
from fieldcraft.problems.split_variables import SplitProblem

REACH = 1e-6  # the largest distance from a bound at which a weight is fixed


@dataclass(frozen=True)
class BoundedLBFGS(QuasiNewton):
    """Settings of bounded L-BFGS; see QuasiNewton for the others.

    Parameters
    ----------
    lower, upper : bounds, one number or one per weight; None for those of the prior alone

    >>> BoundedLBFGS(lower=0.0).lower
    0.0
    """

    max_trials: int = 30
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None

    name = "bounded_lbfgs"

    def requests(self) -> dict[str, Any]:
        return {"curved": True}

    def start(self, problem: Gradient, weights: Floats) -> BoundedLBFGSRun:
        """A run from ``weights``, moved within the bounds."""
        bounds = bounds_of(self, problem)
        if problem.l1 is None:
            return BoundedLBFGSRun(self, problem, weights, bounds)
        split = SplitProblem(problem, bounds)
        return SplitRun(self, split, split.lift(weights), split.part_bounds)


class BoundedLBFGSRun(QuasiNewtonRun):
    """Bounded L-BFGS under way."""

    def __init__(
        self, settings: BoundedLBFGS, problem: Gradient, start: Floats, bounds: tuple[Floats, Floats]
    ) -> None:
        super().__init__(settings, problem, start)
        self.lower, self.upper = bounds
        np.clip(self.weights, self.lower, self.upper, out=self.weights)
        self._metric, self.towards = metric_of(problem), np.empty_like(self.weights)

    def gradient_norm(self) -> float:
        """Length of the projected gradient."""
        projected = self._projected()
        return math.sqrt(self.dot(projected, projected))

    def _projected(self) -> Floats:
        return np.where(self._held(0.0), 0.0, self.gradient)

    def _held(self, reach: float) -> NDArray[np.bool_]:
        """[n] weights that are at a bound, or so near, and pushed against it."""
        low = (self.weights <= self.lower + reach) & (self.gradient > 0)
        high = (self.weights >= self.upper - reach) & (self.gradient < 0)
        return low | high

    def search(self) -> bool:
        norm = self.gradient_norm()
        self._direct(self._held(min(REACH, norm)))
        if not self.dot(self.gradient, self.towards) < 0.0:
            self.history.clear()
            return False
        step = 1.0 if self.history.order else 1.0 / max(norm, 1e-300)
        self.leave()
        for _ in range(self.settings.max_trials):
            value = self._trial(step)
            if self._good_enough(value, norm):
                self.accept(value)
                return True
            step *= 0.5
        self.go_back()
        return False

    def _direct(self, held: NDArray[np.bool_]) -> None:
        size = self.history.direction_within(self.gradient, ~held, self.towards, self._metric)
        spread = 1.0 if self._metric is None else self._metric[held]
        self.towards[held] = -size * spread * self.gradient[held]

    def _trial(self, step: float) -> float:
        origin, _ = self.origin()
        _core.advance(origin, step, self.towards, self.weights, self.problem.n_jobs)
        np.clip(self.weights, self.lower, self.upper, out=self.weights)
        return self.evaluate(self.weights, self.gradient)

    def _good_enough(self, value: float, norm: float) -> bool:
        """Lower as predicted; or equal within rounding, where the projected gradient decides."""
        if not math.isfinite(value):
            return False
        origin, gradient = self.origin()
        gain = self.dot(gradient, self.weights) - self.dot(gradient, origin)
        if value < self.value and value <= self.value + SUFFICIENT * gain:
            return True
        level = abs(value - self.value) <= ROUNDING * abs(self.value)
        return level and self.gradient_norm() < 0.9 * norm


class SplitRun(BoundedLBFGSRun):
    """The same where the variables are the two parts of each weight."""

    def solution(self) -> Floats:
        return self.problem.lower(self.weights)  # type: ignore[no-any-return]

    def weight_norm(self) -> float:
        weights = self.solution()
        return math.sqrt(self.dot(weights, weights))


def bounds_of(settings: BoundedLBFGS, problem: Gradient) -> tuple[Floats, Floats]:
    """The settings' bounds and the prior's together, as vectors of length 1 or n."""
    lower, upper = problem.bounds or (np.full(1, -np.inf), np.full(1, np.inf))
    lower = np.maximum(lower, _vector(settings.lower, -np.inf, "lower", problem.n_variables))
    upper = np.minimum(upper, _vector(settings.upper, np.inf, "upper", problem.n_variables))
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        at = int(crossed[0])
        low, high = (float(bound[at % len(bound)]) for bound in (lower, upper))
        raise InputError(f"weight {at} has the bounds {low:g} .. {high:g}; lower must not exceed upper")
    return lower, upper


def _vector(given: ArrayLike | None, absent: float, name: str, n: int) -> Floats:
    if given is None:
        return np.full(1, absent)
    try:
        vector = np.atleast_1d(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {given!r}; give one number or one per weight ({n})") from None
    if vector.ndim != 1 or len(vector) not in (1, n) or np.isnan(vector).any():
        raise InputError(f"{name} has shape {vector.shape}; give one number or one per weight ({n}), no NaN")
    return vector
