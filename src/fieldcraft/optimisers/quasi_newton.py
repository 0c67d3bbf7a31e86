"""What L-BFGS, OWL-QN and bounded L-BFGS share: a limited memory of steps (history.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft.optimisers.history import History
from fieldcraft.optimisers.run import Floats, GradientOptimiser, Run, State
from fieldcraft.problems.protocols import Gradient


@dataclass(frozen=True)
class QuasiNewton(GradientOptimiser):
    """Settings of the quasi-Newton methods; see GradientOptimiser for the others.

    Parameters
    ----------
    memory : number of remembered steps
    max_trials : evaluations that one line search may use
    """

    memory: int = 6
    max_trials: int = 20


def metric_of(problem: Gradient) -> Floats | None:
    """[F] how far to step along each weight, up to a factor: 1 / sqrt(curvature); None where it is unknown.

    The square root stands between one size for all and the curvature itself, which is that of zero weights
    and shrinks while they grow.
    """
    curved = problem.curvatures()
    return None if curved is None else 1.0 / np.sqrt(curved)


class QuasiNewtonRun(Run):
    """A run with a limited memory."""

    scales: Floats | None = None  # the variables are scales * weights

    def __init__(self, settings: Any, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self._other = np.empty_like(self.weights), np.empty_like(self.weights)  # scratch between searches
        self.history = History(settings.memory, problem.n_variables, problem.n_jobs, self.members)

    def finish(self) -> Floats:
        del self.history, self._other  # the solution may need memory of its own
        return self.solution()

    def remembers(self) -> bool:
        return bool(self.history.order)

    def leave(self) -> None:
        """A line search begins: weights and gradient become scratch for its trials."""
        self._exchange()

    def origin(self) -> tuple[Floats, Floats]:
        """Weights and gradient where the line search began."""
        return self._other

    def _exchange(self) -> None:
        here = self.weights, self.gradient
        (self.weights, self.gradient), self._other = self._other, here

    def accept(self, value: float) -> None:
        """The last trial becomes the current point."""
        self.history.add(self._other, (self.weights, self.gradient))
        self.value = value

    def go_back(self) -> None:
        """No trial was good: return to where the search began, and forget the memory."""
        self._exchange()
        self.history.clear()

    def state(self) -> State:
        return {**super().state(), **self.history.state()}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.history.restore(state)
