"""Stochastic sub-gradient descent for the margin (Pegasos: Shalev-Shwartz et al. 2011).

    w <- w - h (sub-gradient of one sequence's hinge + (p / N) w),      h = 1 / (p / N (t0 + t))

t0 = 1 is Pegasos proper. Its first steps are enormous where the penalty is weak: t0 = N, one pass, tames
them and leaves the rate of convergence as it is. The weights are averaged, later steps counting more
(Lacoste-Julien, Schmidt & Bach 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft.optimisers.calibration import calibrated_rate
from fieldcraft.optimisers.run import Floats, Run
from fieldcraft.optimisers.sgd import decay_of, descent
from fieldcraft.optimisers.stochastic import AVERAGES, BestRun, Stochastic, StochasticRun
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class Subgradient(Stochastic):
    """Settings of the stochastic sub-gradient method.

    Parameters
    ----------
    learning_rate : > 0; None for N / (p t0) with a quadratic penalty of precision p, and without one for the
        best of several rates tried on a sample
    offset : t0 in passes
    average : None, "uniform", or "linear": later steps count more

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF(optimiser="subgradient").fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
    >>> crf.predict([[["w=b"], ["w=a"]]]).tolist()
    [['Y', 'X']]
    """

    max_iterations: int = 50
    learning_rate: float | None = None
    offset: float = 1.0
    average: str | None = "linear"

    name = "subgradient"

    def check(self) -> None:
        super().check()
        self.positive("offset", *(() if self.learning_rate is None else ("learning_rate",)))
        self.one_of("average", AVERAGES)

    def start(self, problem: Passes, weights: Floats) -> Run:
        """A run from ``weights``; for an objective that is not convex, it never ends above its start."""
        return (
            SubgradientRun(self, problem, weights) if problem.convex else NonConvexRun(self, problem, weights)
        )

    def make(self, problem: Passes, rate: float) -> Any:
        return descent(problem, AVERAGES[self.average], rate, decay_of(problem, rate))


class SubgradientRun(StochasticRun):
    """The subgradient method under way."""

    def choose_rate(self) -> float:
        settings, precision = self.settings, float(np.mean(self.problem.quadratic[1]))
        if settings.learning_rate is not None:
            return float(settings.learning_rate)
        return 1.0 / (precision * settings.offset) if precision > 0 else calibrated_rate(self)


class NonConvexRun(BestRun, SubgradientRun):
    """The same where the objective is not convex: the solution is the best point so far.

    The start counts too, unless all weights are zero: there no labelling is preferred to another, and the
    loss of 0 means nothing.
    """

    def begin(self) -> None:
        super().begin()
        if np.any(self.weights):
            self.note()
