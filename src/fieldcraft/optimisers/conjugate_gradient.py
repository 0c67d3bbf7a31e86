"""Nonlinear conjugate gradients: each direction is the slope plus a share of the direction before.

    z = M g,     d = -z + beta d_before
    Fletcher-Reeves   beta = <z, g> / <z_before, g_before>
    Polak-Ribiere+    beta = max(0, <z, g - g_before> / <z_before, g_before>)

M is the identity or, with the diagonal preconditioner, 1 / sqrt(h), h the Hessian's diagonal at zero weights.
(Features of a token overlap, so 1 / h goes too far: on chunking it takes longer than no M at all, and the
root a third fewer evaluations.) The step satisfies the strong Wolfe conditions with a tight slope (0.1), as
Fletcher-Reeves needs to go down. The memory is dropped after n steps, where successive gradients lose
their conjugacy (Powell: |<z_before, g>| >= 0.2 <z, g>) and where the direction does not go down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.line_search import Point, wolfe_step
from fieldcraft.optimisers.quasi_newton import metric_of
from fieldcraft.optimisers.run import Floats, GradientOptimiser, Run, State
from fieldcraft.problems.protocols import Gradient

CURVATURE = 0.1
LOST = 0.2  # Powell's share of a gradient along the one before

# (<z, g>, <z_before, g>, <z_before, g_before>) -> beta
FORMULAS: dict[str, Callable[[float, float, float], float]] = {
    "polak_ribiere": lambda now, mixed, before: max(0.0, (now - mixed) / before),
    "fletcher_reeves": lambda now, _, before: now / before,
}


@dataclass(frozen=True)
class ConjugateGradient(GradientOptimiser):
    """Settings of nonlinear conjugate gradients; see GradientOptimiser for the others.

    Parameters
    ----------
    formula : "polak_ribiere" (never negative) or "fletcher_reeves"
    preconditioner : None, or "diagonal" to scale each weight by its curvature
    max_trials : evaluations that one line search may use
    """

    formula: str = "polak_ribiere"
    preconditioner: str | None = None
    max_trials: int = 20

    name = "conjugate_gradient"

    def check(self) -> None:
        if self.formula not in FORMULAS:
            raise InputError(f"ConjugateGradient: formula={self.formula!r}; choose {' or '.join(FORMULAS)}")
        if self.preconditioner not in (None, "diagonal"):
            raise InputError(
                f"ConjugateGradient: preconditioner={self.preconditioner!r}; choose None or 'diagonal'"
            )

    def requests(self) -> dict[str, Any]:
        return {"curved": self.preconditioner is not None}

    def start(self, problem: Gradient, weights: Floats) -> ConjugateGradientRun:
        """A run from ``weights``."""
        return ConjugateGradientRun(self, problem, weights)


class ConjugateGradientRun(Run):
    """Conjugate gradients under way."""

    def __init__(self, settings: ConjugateGradient, problem: Gradient, start: Floats) -> None:
        super().__init__(settings, problem, start)
        n = problem.n_variables
        self._scale = None if settings.preconditioner is None else metric_of(problem)
        self._formula = FORMULAS[settings.formula]
        self.towards = np.zeros(n)
        self._origin, self._before = np.empty(n), np.zeros(n)  # weights and gradient that the search left
        self.kept = 0  # directions that the present one builds on
        self.reach = 0.0  # step * slope of the last search

    def remembers(self) -> bool:
        return self.kept > 0

    def _scaled(self, gradient: Floats) -> Floats:
        return gradient if self._scale is None else gradient * self._scale

    def search(self) -> bool:
        slope = self._direct()
        if not slope < 0.0:
            self.kept, self.reach = 0, 0.0
            return False
        first = self.reach / slope if self.reach else self._first(slope)
        self._origin[:], self._before[:] = self.weights, self.gradient
        start = Point(0.0, self.value, slope)
        found = wolfe_step(self._at, start, first, self.settings.max_trials, curvature=CURVATURE)
        if found is None:
            self.weights[:], self.gradient[:] = self._origin, self._before
            self.kept, self.reach = 0, 0.0
            return False
        self.value, self.reach = found.value, found.step * slope
        self.kept += 1
        return True

    def _first(self, slope: float) -> float:
        return 1.0 if self._scale is not None else 1.0 / math.sqrt(-slope)

    def _direct(self) -> float:
        """The next direction; its slope."""
        scaled = self._scaled(self.gradient)
        now = self.dot(scaled, self.gradient)
        beta = self._beta(scaled, now)
        np.multiply(self.towards, beta, out=self.towards)
        self.towards -= scaled
        slope = self.dot(self.gradient, self.towards)
        if beta and not slope < 0.0:
            self.kept = 0
            np.negative(scaled, out=self.towards)
            slope = -now
        return slope

    def _beta(self, scaled: Floats, now: float) -> float:
        if not 0 < self.kept < self.problem.n_variables:
            self.kept = 0
            return 0.0
        mixed = self.dot(scaled, self._before)
        before = self.dot(self._scaled(self._before), self._before)
        if not before > 0.0 or abs(mixed) >= LOST * now:
            self.kept = 0
            return 0.0
        return self._formula(now, mixed, before)

    def _at(self, step: float) -> tuple[float, float]:
        _core.advance(self._origin, step, self.towards, self.weights, self.problem.n_jobs)
        value = self.evaluate(self.weights, self.gradient)
        return value, self.dot(self.gradient, self.towards)

    def state(self) -> State:
        kept = np.array([self.kept, self.reach])
        return {**super().state(), "direction": self.towards, "before": self._before, "kept": kept}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.towards[:], self._before[:] = state["direction"], state["before"]
        kept, reach = np.asarray(state["kept"], np.float64)
        self.kept, self.reach = int(kept), float(reach)
