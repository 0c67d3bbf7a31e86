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

from fieldcraft.errors import InputError
from fieldcraft.optimisers.sgd import decay_of, descent
from fieldcraft.optimisers.stochastic import AVERAGES, Stochastic
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class Subgradient(Stochastic):
    """Settings of the stochastic sub-gradient method.

    Parameters
    ----------
    learning_rate : > 0; None for N / (p t0), which needs a quadratic penalty of precision p
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

    def make(self, problem: Passes, rate: float) -> Any:
        del rate
        precision = float(np.mean(problem.quadratic[1]))
        if self.learning_rate is not None:
            rate = float(self.learning_rate)
        elif precision > 0:
            rate = 1.0 / (precision * self.offset)
        else:
            raise InputError(
                "Subgradient: without a quadratic penalty give learning_rate=, or use a Gaussian"
            )
        return descent(problem, AVERAGES[self.average], rate, decay_of(problem, rate))
