"""L-BFGS: quasi-Newton with limited memory and a strong Wolfe line search, for smooth objectives.

Where the values of some features are large (prices, lengths), the variables are u = scale * w, so that a
step of one length is right for all of them; the objective and its minimum stay the same. Weights that act
as one are one variable, where the problem can tell (problems/shared_weights.py); the steps are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.optimisers.block_history import BlockHistory
from fieldcraft.optimisers.divided_history import DividedHistory
from fieldcraft.optimisers.line_search import Point, wolfe_step
from fieldcraft.optimisers.quasi_newton import QuasiNewton, QuasiNewtonRun
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Gradient, Shared

LONG = 20  # steps to remember where memory allows
PAIR_BYTES = 8  # of a feature in a step and its change of the gradient, 32 bits each (history.py)
MOST_BYTES = 2**29  # that the steps may take
LAST_DIGITS = 1e-9  # relative changes of the objective below which slopes need the direction itself


@dataclass(frozen=True)
class LBFGS(QuasiNewton):
    """Settings of L-BFGS; see QuasiNewton."""

    name = "lbfgs"

    @classmethod
    def automatic(cls, size: Any) -> LBFGS:
        """A long memory saves a fifth to a third of the evaluations to the optimum, where there is room."""
        long = size is not None and not size.patient and PAIR_BYTES * LONG * size.features <= MOST_BYTES
        return cls(memory=LONG) if long else cls()

    def start(self, problem: Gradient, weights: Floats) -> LBFGSRun:
        """A run from ``weights``."""
        return LBFGSRun(self, problem, weights)


class LBFGSRun(QuasiNewtonRun):
    """L-BFGS under way; ``weights`` are the variables u."""

    _ready = False  # are the weights those of a step of 1

    def __init__(self, settings: LBFGS, problem: Gradient, start: Floats) -> None:
        self.shared: Shared | None = None
        if (found := problem.shared(start)) is not None:
            self.shared, start = found
            problem, self.members = self.shared, self.shared.members
        self.scales = problem.scales()
        super().__init__(settings, problem, start if self.scales is None else start * self.scales)
        ranks, groups = (getattr(problem, name, None) for name in ("ranks", "groups"))
        if ranks is not None:
            size = settings.memory, problem.n_variables, problem.n_jobs
            self.history = DividedHistory(*size, ranks)
        elif groups is not None:
            self.history = BlockHistory(settings.memory, groups, problem.n_jobs)

    def evaluate(self, weights: Floats, gradient: Floats) -> float:
        if self.scales is None:
            return super().evaluate(weights, gradient)
        value = super().evaluate(weights / self.scales, gradient)
        gradient /= self.scales
        return value

    def solution(self) -> Floats:
        if self.shared is not None:
            return self.shared.weights(self.weights)
        return self.weights if self.scales is None else self.weights / self.scales

    def solution_norm(self) -> float:
        return super().solution_norm() if self.shared is None else self.weight_norm()

    def search(self) -> bool:
        trial, _ = self._other
        slope = self.history.direction(self.gradient, trial, self.weights, trial)
        if not slope < 0.0:
            self.history.clear()
            return False
        first = 1.0 if self.history.order else 1.0 / math.sqrt(-slope)
        start = Point(0.0, self.value, slope)
        self.leave()
        self._ready = True  # the direction was added already: a step of 1
        found = wolfe_step(self._at, start, first, self.settings.max_trials)
        if found is None:
            self.go_back()
            return False
        self.accept(found.value)
        return True

    def _at(self, step: float) -> tuple[float, float]:
        """Value and slope after a step. The direction is not kept: few searches take a second step."""
        jobs, (origin, gradient) = self.problem.n_jobs, self.origin()
        if not (self._ready and step == 1.0):
            self.history.repeat(gradient, self.weights)
            _core.advance(origin, step, self.weights, self.weights, jobs)
        self._ready = False
        value = self.evaluate(self.weights, self.gradient)
        if abs(value - self.value) > LAST_DIGITS * abs(self.value):
            change = _core.change_along(self.gradient, self.weights, origin, jobs, self.members)
            return value, float(change) / step
        towards = np.empty_like(self.weights)  # steps as small as the weights' rounding tell no slope
        self.history.repeat(gradient, towards)
        return value, self.dot(self.gradient, towards)
