"""SGD: stochastic gradient descent.

    w <- w - h (gradient of one sequence's loss + penalty / N),      h = rate / (1 + decay t)

With a quadratic penalty of precision p the decay is rate p / N, so that h = 1 / (p / N (t0 + t)) with
t0 = 1 / (rate p / N): the schedule of Bottou that CRFsuite's l2sgd uses too; without one the rate falls to
a half after ten passes. Shrinking is lazy (one factor for all weights), absolute-value penalties are
cumulative (Tsuruoka, Tsujii & Ananiadou 2009): the cost of a step follows the sequence, not the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.optimisers.calibration import Calibrated, CalibratedRun
from fieldcraft.optimisers.run import Floats, Run
from fieldcraft.optimisers.stochastic import AVERAGES, BestRun, StochasticRun, mask_of
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class SGD(Calibrated):
    """Settings of stochastic gradient descent; see Calibrated for the learning rate.

    Parameters
    ----------
    average : None for the last weights, "uniform" for the mean of all steps', "linear" for a mean in which
        later steps count more; with absolute-value penalties an average has few zeros
    best : the solution is that of the pass with the least objective, not of the last one; the objective is
        then that of the best pass so far, which can stand still for a while: choose a longer ``period``
    tolerance, objective_tolerance, period : as for batch optimisers; the objective is exact

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF(optimiser=SGD(learning_rate=0.5, max_iterations=20))
    >>> crf = crf.fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
    >>> crf.predict([[["w=b"], ["w=a"]]]).tolist()
    [['Y', 'X']]
    """

    average: str | None = None
    best: bool = False

    name = "sgd"

    @classmethod
    def automatic(cls, size: Any) -> SGD:
        """ "auto" takes it where gradients are drawn, whose noise an average takes out."""
        del size
        return cls(average="linear")

    def check(self) -> None:
        super().check()
        self.one_of("average", AVERAGES)
        self.one_of("best", (False, True))

    def start(self, problem: Any, weights: Floats) -> Run:
        return BestPassRun(self, problem, weights) if self.best else super().start(problem, weights)

    def make(self, problem: Passes, rate: float) -> Any:
        return descent(problem, AVERAGES[self.average], rate, decay_of(problem, rate))


class BestPassRun(BestRun, CalibratedRun):
    """A run whose solution, with its objective, is that of the best pass so far; the start does not count."""

    def objective(self) -> float:
        """That of the solution; before the first pass, that of the start."""
        return self.best if math.isfinite(self.best) else StochasticRun.objective(self)


def decay_of(problem: Passes, rate: float) -> float:
    """How fast the rate falls, per step."""
    n = max(problem.n_sequences, 1)
    precision = float(np.mean(problem.quadratic[1]))
    return rate * precision / n if precision > 0 else 0.1 / n


def descent(
    problem: Passes,
    average: int,
    rate: float,
    decay: float,
    *,
    adaptive: bool = False,
    floor: float = 0.0,
    hold: bool = False,
) -> Any:
    """The core's descent on a problem with its penalty."""
    mean, precision = problem.quadratic
    above, below = (None, None) if problem.l1 is None else problem.l1
    return _core.descent(
        problem.passes(),
        mask_of(problem),
        average,
        rate,
        decay,
        adaptive,
        floor,
        hold,
        mean,
        precision,
        above,
        below,
    )
