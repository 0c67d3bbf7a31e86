"""Adagrad: descent with a separate rate for every weight (Duchi, Hazan & Singer 2011).

    G <- G + g^2,    w <- w - rate / (floor + sqrt(G)) g      g: a sequence's gradient, summed per feature

A weight's penalty is spread evenly over the sequences that have its feature, so that a step touches
nothing else; quadratic parts are taken implicitly, absolute values cumulatively.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldcraft.optimisers.calibration import Calibrated
from fieldcraft.optimisers.sgd import descent
from fieldcraft.optimisers.stochastic import AVERAGES
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class Adagrad(Calibrated):
    """Settings of Adagrad; see Calibrated for the learning rate.

    Parameters
    ----------
    floor : > 0, added to the root of a weight's sum of squares
    average : None for the last weights, "uniform" or "linear" for a mean over all steps

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> crf = ChainCRF(optimiser=Adagrad(learning_rate=0.5, max_iterations=20))
    >>> crf = crf.fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
    >>> crf.predict([[["w=b"], ["w=a"]]]).tolist()
    [['Y', 'X']]
    """

    floor: float = 1e-6
    average: str | None = None

    name = "adagrad"

    def check(self) -> None:
        super().check()
        self.positive("floor")
        self.one_of("average", AVERAGES)

    def make(self, problem: Passes, rate: float) -> Any:
        return descent(problem, AVERAGES[self.average], rate, 0.0, adaptive=True, floor=self.floor)
