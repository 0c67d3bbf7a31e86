"""One optimisation under way: what all optimisers share.

An optimiser is its settings, frozen; ``needs`` names the protocol of problems/protocols.py that its problem
must follow, and ``start`` begins a run. A run has the current point and can do one iteration, return its
state as arrays and go on from such a state bit for bit. The loop around it (loop.py) decides when to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import FieldcraftError

Floats = NDArray[np.float64]
State = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Optimiser:
    """Settings that all optimisers share.

    Parameters
    ----------
    max_iterations : stop after that many
    """

    name: ClassVar[str]
    needs: ClassVar[str] = "gradient"  # protocol of its problem

    max_iterations: int = 1000

    def check(self) -> None:
        """Refuse settings that make no sense (numbers are checked by the table)."""

    def requests(self) -> dict[str, Any]:
        """Options of the problem that it asks for."""
        return {}

    def fits(self, size: Any) -> bool:
        """Is it meant for a training of this size (table.Size)."""
        del size
        return True

    @classmethod
    def automatic(cls, size: Any) -> Any:
        """The settings with which "auto" takes it."""
        del size
        return cls()

    def suits(self, size: Any) -> bool:
        """Would "auto" pick it at this size, None if that is not known; where it fits at all."""
        del size
        return True

    def objection(self, size: Any) -> str:
        """Why "auto" does not pick it, where its users would expect it; else empty."""
        del size
        return ""

    def stored_bytes(self, size: Any) -> int:
        """Bytes that it keeps besides vectors over the weights."""
        del size
        return 0

    def start(self, problem: Any, weights: Floats) -> Run:
        """A run from ``weights``."""
        raise NotImplementedError


@dataclass(frozen=True)
class GradientOptimiser(Optimiser):
    """Settings of optimisers that stop where the gradient vanishes or the objective no longer falls.

    Parameters
    ----------
    tolerance : stop when |gradient| <= tolerance * max(1, |w|)
    objective_tolerance : stop when the objective fell by less than this fraction over ``period`` iterations
    period : see objective_tolerance
    """

    tolerance: float = 1e-5
    objective_tolerance: float = 1e-6
    period: int = 10


class Run:
    """Current weights, value and gradient of a minimisation."""

    since = 0  # the iteration from which on falls of the objective are judged
    searches = False  # does it look for steps that lower the objective
    exact = True  # is the objective that it reports the objective itself, not an estimate
    members: NDArray[np.uint8] | None = None  # how many weights each variable stands for; None for one

    def __init__(self, settings: Any, problem: Any, start: Floats) -> None:
        self.settings = settings
        self.problem = problem
        self.weights = np.array(start, np.float64)
        self.gradient = np.empty_like(self.weights)
        self.iteration = 0
        self.evaluations = 0
        self.value = math.nan
        self.why_stuck = ""

    @property
    def gap(self) -> float:
        """Distance of the objective to a lower bound of its minimum; nan where there is none."""
        return math.nan

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
        return float(self.problem.value_and_gradient(weights, gradient))

    def evaluate_value(self, weights: Floats) -> float:
        """f(w) alone, counted."""
        self.evaluations += 1
        return float(self.problem.value(weights))

    def dot(self, x: Floats, y: Floats) -> float:
        """Inner product, the same for any number of threads."""
        return float(_core.dot(x, y, self.problem.n_jobs, self.members))

    def gradient_norm(self) -> float:
        """Length of the gradient at the current point."""
        return math.sqrt(self.dot(self.gradient, self.gradient))

    def weight_norm(self) -> float:
        """Length of the weight vector."""
        return math.sqrt(self.dot(self.weights, self.weights))

    def objective(self) -> float:
        """The whole objective at the current point."""
        return self.value

    def step(self) -> bool:
        """One iteration: two searches at the most, the second one with nothing remembered.

        False when no step lowers the objective; ``why_stuck`` then says why.
        """
        remembered = self.remembers()
        self.searches = True
        if self.search() or (remembered and self.search()):
            self.iteration += 1
            return True
        self.why_stuck = "no step lowers the objective any more: its last digits are reached"
        return False

    def remembers(self) -> bool:
        """Do earlier iterations have a part in the next direction."""
        raise NotImplementedError

    def search(self) -> bool:
        """Move to a lower point; False, at the old point and with nothing remembered, if there is none."""
        raise NotImplementedError

    def solution(self) -> Floats:
        """[F] the model's weights at the current point, which need not be the variables themselves."""
        return self.weights

    def finish(self) -> Floats:
        """``solution``, after which no step follows."""
        return self.solution()

    def solution_norm(self) -> float:
        """Length of ``solution``."""
        weights = self.solution()
        return math.sqrt(float(_core.dot(weights, weights, self.problem.n_jobs)))

    def extras(self) -> dict[str, Floats]:
        """Arrays that a model keeps beside its weights."""
        return {}

    def state(self) -> State:
        """Arrays from which ``restore`` goes on bit for bit."""
        return {
            "weights": self.weights,
            "gradient": self.gradient,
            "numbers": np.array([self.value, self.iteration, self.evaluations]),
        }

    def restore(self, state: State) -> None:
        """Undo ``state``."""
        self.weights[:] = state["weights"]
        self.gradient[:] = state["gradient"]
        value, iteration, evaluations = np.asarray(state["numbers"], np.float64)
        self.value, self.iteration, self.evaluations = float(value), int(iteration), int(evaluations)
