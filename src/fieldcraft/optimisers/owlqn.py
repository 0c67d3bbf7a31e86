"""OWL-QN: L-BFGS for objectives with an absolute-value penalty (Andrew and Gao, 2007).

    F(w) = f(w) + sum above max(w, 0) + below max(-w, 0)

The pseudo-gradient is the steepest slope of F at w. A step never crosses zero: it stops there. Two things
differ from the paper, and together need a seventh of the evaluations where few weights stay (decision 012):

- The direction comes from the memory cut to the weights that may move. Most weights are zero and stay so, but
  their gradients change with every step; in the memory they drown what it knows of the others.
- Only weights at zero lose a direction that disagrees with the pseudo-gradient, not the others.

The memory grows from a diagonal, 1 / sqrt(curvature at zero weights): rare features take longer steps. The
first step has no memory; there the curvatures themselves say how far to go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.optimisers.quasi_newton import QuasiNewton, QuasiNewtonRun, metric_of
from fieldcraft.optimisers.run import Floats, State
from fieldcraft.problems.protocols import Gradient

SUFFICIENT = 1e-4


@dataclass(frozen=True)
class OWLQN(QuasiNewton):
    """Settings of OWL-QN; see QuasiNewton. Its line search only halves, so it may take more trials.

    Parameters
    ----------
    as_published : take the paper's steps, as CRFsuite does; for comparisons
    """

    memory: int = 10
    max_trials: int = 30
    as_published: bool = False

    name = "owlqn"

    def requests(self) -> dict[str, Any]:
        return {"curved": not self.as_published}

    def start(self, problem: Gradient, weights: Floats) -> OWLQNRun:
        """A run from ``weights``."""
        return OWLQNRun(self, problem, weights)


class OWLQNRun(QuasiNewtonRun):
    """OWL-QN under way. ``value`` is the smooth part; ``objective`` adds the penalty."""

    def __init__(self, settings: OWLQN, problem: Gradient, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self._l1 = problem.l1 if problem.l1 is not None else (np.zeros(1), np.zeros(1))
        self._pseudo, self.towards = np.empty_like(self.weights), np.empty_like(self.weights)
        self._penalty: float | None = None  # of the current point, once it is known
        self._metric = metric_of(problem)

    def objective(self) -> float:
        if self._penalty is None:
            self._penalty = float(self.problem.l1_value(self.weights))
        return self.value + self._penalty

    def gradient_norm(self) -> float:
        """Length of the pseudo-gradient."""
        self._slope_now()
        return math.sqrt(self.dot(self._pseudo, self._pseudo))

    def _slope_now(self) -> None:
        jobs = self.problem.n_jobs
        _core.pseudo_gradient(self.weights, self.gradient, *self._l1, self._pseudo, jobs)

    def search(self) -> bool:
        jobs = self.problem.n_jobs
        self._slope_now()
        sized = self._direct()
        slope = self.dot(self._pseudo, self.towards)
        if not slope < 0.0:
            self.history.clear()
            return False
        short = 1.0 / math.sqrt(-slope)
        step = 1.0 if sized else short
        below = 1.0 if self.history.order else short  # curvatures of another loss are no guide: try it once
        before, start = self.objective(), self.dot(self._pseudo, self.weights)
        self.leave()
        origin, _ = self.origin()
        for _ in range(self.settings.max_trials):
            _core.orthant_step(origin, self._pseudo, step, self.towards, self.weights, jobs)
            value = self.evaluate(self.weights, self.gradient)
            penalty = float(self.problem.l1_value(self.weights))
            after = value + penalty
            gain = self.dot(self._pseudo, self.weights) - start
            if math.isfinite(after) and after <= before + SUFFICIENT * gain and after < before:
                self.accept(value)
                self._penalty = penalty
                return True
            step = min(0.5 * step, below)
        self.go_back()
        self._penalty = None
        return False

    def _direct(self) -> bool:
        """Set the direction; does it say how far to go, too?"""
        if not self.history.order and self.problem.first_step(self._pseudo, self.towards):
            return True
        if self.settings.as_published:
            self.history.direction(self._pseudo, self.towards)
            _core.align(None, self._pseudo, self.towards, self.problem.n_jobs)
        else:
            free = (self._pseudo != 0.0) | (self.weights != 0.0)
            self.history.direction_within(self._pseudo, free, self.towards, self._metric)
            _core.align(self.weights, self._pseudo, self.towards, self.problem.n_jobs)
        return bool(self.history.order)

    def restore(self, state: State) -> None:
        super().restore(state)
        self._penalty = None
