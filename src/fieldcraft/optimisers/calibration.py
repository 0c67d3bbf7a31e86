"""A learning rate from a sample: rates are tried by multiplying and dividing until none is better.

A trial is one pass over the sample from the starting weights; it is judged by the sample's loss afterwards
plus its share of the penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft.errors import FieldcraftError
from fieldcraft.optimisers.run import Floats, Run
from fieldcraft.optimisers.stochastic import Stochastic, StochasticRun
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class Calibrated(Stochastic):
    """Settings of optimisers with a learning rate.

    Parameters
    ----------
    learning_rate : > 0; None tries rates on a sample of the corpus
    first_rate : the first rate to try
    factor : what lies between the rates tried
    sample : how many sequences they are tried on
    max_trials : rates to try at the most
    """

    learning_rate: float | None = None
    first_rate: float = 0.1
    factor: float = 2.0
    sample: int = 1000
    max_trials: int = 20

    def check(self) -> None:
        super().check()
        self.positive("first_rate", "sample", *(() if self.learning_rate is None else ("learning_rate",)))
        if not self.factor > 1:
            raise FieldcraftError(f"{type(self).__name__}: factor is {self.factor!r}; it must be above 1")

    def start(self, problem: Any, weights: Floats) -> Run:
        return CalibratedRun(self, problem, weights)


class CalibratedRun(StochasticRun):
    """A run that begins by choosing its learning rate."""

    def choose_rate(self) -> float:
        s = self.settings
        if s.learning_rate is not None:
            return float(s.learning_rate)
        return calibrated_rate(
            self, sample=int(s.sample), first=s.first_rate, factor=s.factor, max_trials=s.max_trials
        )


def calibrated_rate(
    run: StochasticRun, *, sample: int = 1000, first: float = 0.1, factor: float = 2.0, max_trials: int = 20
) -> float:
    """The rate after which a pass over a sample of the corpus leaves the least objective."""
    settings, problem = run.settings, run.problem
    drawn = np.random.default_rng([settings.seed, 2**31]).permutation(problem.n_sequences)
    order = drawn[: min(sample, problem.n_sequences)].astype(np.int64)

    def trial(rate: float) -> float:
        return _trial(settings, problem, run.weights, order, rate)

    rate, value = best_rate(trial, first, factor, max_trials)
    if not math.isfinite(value):
        raise run.overflow()
    return rate


def _trial(settings: Any, problem: Passes, start: Floats, order: Any, rate: float) -> float:
    native = settings.make(problem, rate)
    native.start(start)
    native.run(order)
    weights = np.empty_like(start)
    native.weights(weights)
    share = len(order) / max(problem.n_sequences, 1)
    value = native.loss(order) + share * problem.penalty(weights)
    return float(value) if math.isfinite(value) else math.inf


def best_rate(
    trial: Callable[[float], float], first: float, factor: float, max_trials: int
) -> tuple[float, float]:
    """The rate with the least value and that value: upwards while it gets better, else downwards.

    >>> best_rate(lambda rate: abs(rate - 0.05), 0.1, 2.0, 20)
    (0.05, 0.0)
    """
    best, value = first, trial(first)
    trials = 1
    for step in (factor, 1 / factor):
        rate = first * step
        while trials < max_trials:
            found = trial(rate)
            trials += 1
            if found >= value and math.isfinite(value):
                break
            if found < value:
                best, value = rate, found
            rate *= step
            if step > 1 and not math.isfinite(found):
                break
        if best != first:
            break
    return best, value
