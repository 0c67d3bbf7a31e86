"""One optimisation under way: what L-BFGS and OWL-QN share.

A run holds the current point and can do one iteration, show its state as arrays and go on from such
a state bit for bit. The loop around it (loop.py) decides when to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import FieldcraftError
from fieldcraft.optimisers.history import History

Floats = NDArray[np.float64]


class Problem(Protocol):
    """What an optimiser needs to know of the training problem."""

    n_variables: int
    n_jobs: int
    l1: tuple[Floats, Floats] | None

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float: ...
    def l1_value(self, weights: Floats) -> float: ...


@dataclass(frozen=True)
class QuasiNewton:
    """Settings that L-BFGS and OWL-QN share.

    Parameters
    ----------
    max_iterations : stop after that many
    memory : number of remembered steps
    tolerance : stop when |gradient| <= tolerance * max(1, |w|)
    objective_tolerance : stop when the objective fell by less than this fraction over ``period`` iterations
    period : see objective_tolerance
    max_trials : evaluations that one line search may use
    """

    max_iterations: int = 1000
    memory: int = 6
    tolerance: float = 1e-5
    objective_tolerance: float = 1e-6
    period: int = 10
    max_trials: int = 20


class Run:
    """Current weights, value and gradient of a minimisation with limited memory."""

    def __init__(self, settings: Any, problem: Problem, start: Floats) -> None:
        self.settings = settings
        self.problem = problem
        self.weights = np.array(start, np.float64)
        self.gradient = np.empty_like(self.weights)
        self.towards = np.empty_like(self.weights)  # the search direction
        self.history = History(settings.memory, problem.n_variables, problem.n_jobs)
        self.iteration = 0
        self.evaluations = 0
        self.value = math.nan
        self.why_stuck = ""

    def begin(self) -> None:
        """Evaluate the starting point (a restored run has it already)."""
        if not math.isnan(self.value):
            return
        self.value = self.evaluate(self.weights, self.gradient)
        if not math.isfinite(self.value):
            raise FieldcraftError(
                f"the objective is {self.value} at the starting point; "
                "feature values are too large: scale them, or start from smaller weights"
            )

    def evaluate(self, weights: Floats, gradient: Floats) -> float:
        """f(w) with its gradient, counted."""
        self.evaluations += 1
        return self.problem.value_and_gradient(weights, gradient)

    def dot(self, x: Floats, y: Floats) -> float:
        """Inner product, the same for any number of threads."""
        return float(_core.dot(x, y, self.problem.n_jobs))

    def gradient_norm(self) -> float:
        """Length of the gradient at the current point."""
        return math.sqrt(self.dot(self.gradient, self.gradient))

    def weight_norm(self) -> float:
        """Length of the weight vector."""
        return math.sqrt(self.dot(self.weights, self.weights))

    def objective(self) -> float:
        """The whole objective at the current point."""
        return self.value

    def leave(self) -> None:
        """A line search begins: weights and gradient become scratch for its trials."""
        self.history.open(self.weights, self.gradient)

    def accept(self, value: float) -> None:
        """The last trial becomes the current point."""
        self.history.close(self.weights, self.gradient)
        self.value = value
        self.iteration += 1

    def go_back(self) -> None:
        """No trial was good: return to where the search began, and forget the memory."""
        weights, gradient = self.history.origin()
        self.weights[:], self.gradient[:] = weights, gradient
        self.history.clear()

    def step(self) -> bool:
        """One iteration: a search, and one along steepest descent if that fails.

        False when no step lowers the objective; ``why_stuck`` then says why.
        """
        remembered = bool(self.history.order)
        if self.search() or (remembered and self.search()):
            return True
        self.why_stuck = "no step lowers the objective any more: its last digits are reached"
        return False

    def search(self) -> bool:
        """Move along the direction that the memory gives; False (and nothing remembered) if that fails."""
        raise NotImplementedError

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Arrays from which ``restore`` goes on bit for bit."""
        return {
            "weights": self.weights,
            "gradient": self.gradient,
            "numbers": np.array([self.value, self.iteration, self.evaluations]),
            **self.history.state(),
        }

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Undo ``state``."""
        self.weights[:] = state["weights"]
        self.gradient[:] = state["gradient"]
        value, iteration, evaluations = np.asarray(state["numbers"], np.float64)
        self.value, self.iteration, self.evaluations = float(value), int(iteration), int(evaluations)
        self.history.restore(state)
