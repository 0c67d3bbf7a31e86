"""EM: expectation maximisation for labels that are only partly known.

    E-step   counts = expected feature counts over the labellings that the labels allow, at the weights w0
    M-step   lower Q(w) = log Z(w) - <w, counts> + penalty, from w0, by a few steps of L-BFGS (or OWL-QN)

log Z of the allowed labellings is convex in w, so Q plus a constant touches the marginal likelihood's loss at
w0 and lies above it elsewhere: whatever lowers Q lowers that loss at least as much. Both have the same
gradient at w0, so EM ends where the gradient method ends: at a stationary point. The M-step need not be
finished (generalised EM); each starts with an empty memory, so a state is no more than the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.owlqn import OWLQN
from fieldcraft.optimisers.quasi_newton import QuasiNewton
from fieldcraft.optimisers.run import Floats, Run, State
from fieldcraft.problems.protocols import Expectation

SEARCHES: dict[bool, type[LBFGS] | type[OWLQN]] = {False: LBFGS, True: OWLQN}  # has the penalty a kink


@dataclass(frozen=True)
class EM(QuasiNewton):
    """Settings of EM; an iteration is an E-step and an M-step. See QuasiNewton for the others.

    Parameters
    ----------
    steps : steps of L-BFGS in an M-step; fewer forget more often, more follow old expectations for longer
    """

    steps: int = 10

    name = "em"
    needs = "expectation"

    def start(self, problem: Expectation, weights: Floats) -> EMRun:
        """A run from ``weights``."""
        return EMRun(self, problem, weights)


class EMRun(Run):
    """EM under way. ``value`` is the smooth part of the loss; its gradient is also Q's."""

    def __init__(self, settings: EM, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        kind = SEARCHES[problem.l1 is not None]
        self._inner = kind(memory=settings.memory, max_trials=settings.max_trials).start(problem, start)
        self._inner.weights, self._inner.gradient = self.weights, self.gradient  # one point for both
        self._inner.scales = None  # and one scale: the variables are the weights
        self._above = math.nan  # the loss minus Q, here

    def evaluate(self, weights: Floats, gradient: Floats) -> float:
        """E-step, and with it the loss: Q touches it here."""
        self._above = self.problem.expect(weights)
        return self._above + super().evaluate(weights, gradient)

    def objective(self) -> float:
        return self.value + float(self.problem.l1_value(self.weights))

    def gradient_norm(self) -> float:
        return self._inner.gradient_norm()

    def remembers(self) -> bool:
        return False

    def search(self) -> bool:
        """One M-step, then the E-step of the next."""
        inner = self._inner
        inner.history.clear()
        inner.value, inner.evaluations = self.value - self._above, 0
        done = 0
        while done < self.settings.steps and inner.step():
            done += 1
        self.weights, self.gradient = inner.weights, inner.gradient  # a search exchanges them with others
        self.evaluations += inner.evaluations
        if done:
            self.value = self.evaluate(self.weights, self.gradient)
        return done > 0

    def restore(self, state: State) -> None:
        super().restore(state)
        self._above = self.problem.expect(self.weights)
