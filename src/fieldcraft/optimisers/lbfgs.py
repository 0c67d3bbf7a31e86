"""L-BFGS: quasi-Newton with limited memory and a strong Wolfe line search, for smooth objectives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fieldcraft import _core
from fieldcraft.optimisers.line_search import Point, wolfe_step
from fieldcraft.optimisers.quasi_newton import QuasiNewton, QuasiNewtonRun
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Gradient


@dataclass(frozen=True)
class LBFGS(QuasiNewton):
    """Settings of L-BFGS; see QuasiNewton."""

    name = "lbfgs"

    def start(self, problem: Gradient, weights: Floats) -> LBFGSRun:
        """A run from ``weights``."""
        return LBFGSRun(self, problem, weights)


class LBFGSRun(QuasiNewtonRun):
    """L-BFGS under way."""

    def search(self) -> bool:
        self.history.direction(self.gradient, self.towards)
        slope = self.dot(self.gradient, self.towards)
        if not slope < 0.0:
            self.history.clear()
            return False
        first = 1.0 if self.history.order else 1.0 / math.sqrt(-slope)
        start = Point(0.0, self.value, slope)
        self.leave()
        found = wolfe_step(self._at, start, first, self.settings.max_trials)
        if found is None:
            self.go_back()
            return False
        self.accept(found.value)
        return True

    def _at(self, step: float) -> tuple[float, float]:
        origin, _ = self.history.origin()
        _core.advance(origin, step, self.towards, self.weights, self.problem.n_jobs)
        value = self.evaluate(self.weights, self.gradient)
        return value, self.dot(self.gradient, self.towards)
