"""Optimisers that change the weights after every sequence: what they share.

An iteration is a pass over the corpus, made natively in one call. The order of a pass depends on ``seed``
and the pass's number alone, so that a state needs no generator. Passes are sequential: results do not
depend on the number of threads.

Two kinds of runs: those that minimise a sum evaluate objective and gradient exactly after each pass
(StochasticRun); those that learn from mistakes alone report the losses as they were met (MistakeRun).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.optimisers.run import Floats, GradientOptimiser, Run, State
from fieldcraft.problems.protocols import Passes

AVERAGES = {None: 0, "uniform": 1, "linear": 2}  # the core's codes: what step k counts


def mask_of(problem: Passes) -> NDArray[np.uint8] | None:
    """[F] 0 where a weight must stay at zero."""
    return None if problem.mask is None else problem.mask.astype(np.uint8)


@dataclass(frozen=True)
class Stochastic(GradientOptimiser):
    """Settings that all stochastic optimisers share; an iteration is a pass over the corpus.

    Parameters
    ----------
    max_iterations : passes at the most
    shuffle : visit the sequences in another order in every pass
    seed : fixes the orders
    """

    max_iterations: int = 100
    shuffle: bool = True
    seed: int = 0

    needs = "passes"

    def check(self) -> None:
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise InputError(f"{type(self).__name__}: seed is {self.seed!r}; it must be a whole number >= 0")

    def start(self, problem: Any, weights: Floats) -> Run:
        return StochasticRun(self, problem, weights)

    def make(self, problem: Passes, rate: float) -> Any:
        """The core's optimiser; ``rate`` is the learning rate where there is one."""
        raise NotImplementedError

    def positive(self, *names: str) -> None:
        """Refuse settings of these names that are not finite and above zero."""
        for name in names:
            value = getattr(self, name)
            is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value) and value > 0):
                raise InputError(f"{type(self).__name__}: {name} is {value!r}; it must be a number above 0")

    def one_of(self, name: str, known: Any) -> None:
        """Refuse a setting that is not in a table."""
        if getattr(self, name) not in known:
            shown = ", ".join(map(repr, known))
            raise InputError(
                f"{type(self).__name__}: {name} is {getattr(self, name)!r}; choose one of {shown}"
            )


class StochasticRun(Run):
    """A stochastic minimisation under way; after each pass the objective is evaluated exactly."""

    def __init__(self, settings: Any, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self.rate = math.nan  # the learning rate, once it is chosen
        self._native: Any = None
        self._slope = np.empty_like(self.weights)

    @property
    def native(self) -> Any:
        """The core's optimiser, made when it is first needed."""
        if self._native is None:
            self.rate = self.choose_rate()
            self._native = self.settings.make(self.problem, self.rate)
            self._native.start(self.weights)
        return self._native

    def choose_rate(self) -> float:
        """The learning rate to begin with."""
        return 1.0

    def order(self) -> NDArray[np.int64]:
        """The sequences of the next pass."""
        n = self.problem.n_sequences
        if not self.settings.shuffle:
            return np.arange(n, dtype=np.int64)
        return np.random.default_rng([self.settings.seed, self.iteration]).permutation(n).astype(np.int64)

    def step(self) -> bool:
        """One pass; always True, since no single pass shows that nothing is left to gain."""
        self.run_pass(self.order())
        self.native.weights(self.weights)
        self.value = self.evaluate(self.weights, self.gradient)
        if not math.isfinite(self.value):
            raise self.overflow()
        self.iteration += 1
        return True

    def run_pass(self, order: NDArray[np.int64]) -> float:
        """The losses of one pass as they were met, summed."""
        met = float(self.native.run(order))
        if not math.isfinite(met):
            raise self.overflow()
        return met

    def overflow(self) -> FieldcraftError:
        """What to say when the weights have gone too far."""
        return FieldcraftError(
            f"{self.settings.name}: the loss is not finite in pass {self.iteration + 1}; "
            "feature values or the learning rate are too large: scale the features or lower the rate"
        )

    def objective(self) -> float:
        return self.value + float(self.problem.l1_value(self.weights))

    def gradient_norm(self) -> float:
        """Length of the gradient, or of the pseudo-gradient where the penalty has absolute values."""
        if self.problem.l1 is None:
            return super().gradient_norm()
        above, below = self.problem.l1
        jobs = self.problem.n_jobs
        _core.pseudo_gradient(self.weights, self.gradient, above, below, self._slope, jobs)
        return math.sqrt(self.dot(self._slope, self._slope))

    def state(self) -> State:
        return {**super().state(), **self.native.state(), "rate": np.array([self.rate])}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.rate = float(np.asarray(state["rate"], np.float64)[0])
        self._native = self.settings.make(self.problem, self.rate)
        self._native.restore(state)


class BestRun(StochasticRun):
    """A run whose solution, with its objective, is the best point so far; other runs inherit it first."""

    def __init__(self, settings: Any, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self.best = math.inf
        self._best_weights: Floats = self.weights.copy()

    def step(self) -> bool:
        went_on = super().step()
        self.note()
        return went_on

    def note(self) -> None:
        """Keep the current point if its objective is the least."""
        value = super().objective()
        if value < self.best:
            self.best = value
            self._best_weights[:] = self.weights

    def objective(self) -> float:
        return self.best

    def solution(self) -> Floats:
        return self._best_weights

    def state(self) -> State:
        return {**super().state(), "best_point": self._best_weights, "best_value": np.array([self.best])}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._best_weights[:] = state["best_point"]
        self.best = float(np.asarray(state["best_value"], np.float64)[0])


@dataclass(frozen=True)
class MistakeDriven(Stochastic):
    """Settings of optimisers that change weights only when the best labelling is wrong.

    They ignore the gradient: training ends after ``max_iterations`` passes, or when a pass is good enough.

    Parameters
    ----------
    least_loss : stop after a pass whose mean loss per sequence is not greater
    """

    max_iterations: int = 20
    tolerance: float = 0.0
    objective_tolerance: float = -1e300  # never: losses as they are met rise and fall
    least_loss: float = 0.0

    def check(self) -> None:
        super().check()
        if not self.least_loss >= 0:
            name = type(self).__name__
            raise InputError(f"{name}: least_loss is {self.least_loss!r}; it must be a number >= 0")

    def start(self, problem: Any, weights: Floats) -> Run:
        return MistakeRun(self, problem, weights)


class MistakeRun(StochasticRun):
    """Learning from mistakes: the objective is the loss as it was met, the norm how far the weights moved."""

    exact = False

    def __init__(self, settings: Any, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self.gradient.fill(math.inf)  # until there was a pass
        self._last = np.empty_like(self.weights)

    def begin(self) -> None:
        """Nothing is known before the first pass."""
        if math.isnan(self.value):
            self.value = math.inf

    def step(self) -> bool:
        """One pass; False when the one before was good enough."""
        if self.iteration and self._good_enough():
            self.why_stuck = "the loss of a pass is small enough"
            return False
        native = self.native
        native.last_weights(self.gradient)
        self.value = self.run_pass(self.order())
        native.last_weights(self._last)
        np.subtract(self._last, self.gradient, out=self.gradient)
        native.weights(self.weights)
        self.evaluations += 1
        self.iteration += 1
        return True

    def _good_enough(self) -> bool:
        """Ties can be mistakes of loss 0: no loss is good enough only if nothing moved either."""
        least = self.settings.least_loss * self.problem.n_sequences
        return self.value <= least and (least > 0 or self.gradient_norm() == 0)

    def objective(self) -> float:
        return self.value

    def gradient_norm(self) -> float:
        """How far the weights moved in the last pass."""
        return math.inf if self.iteration == 0 else math.sqrt(self.dot(self.gradient, self.gradient))
