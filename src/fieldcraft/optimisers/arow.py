"""AROW: adaptive regularisation of weights (Crammer, Kulesza & Dredze 2009), diagonal.

Every weight has a variance v. With d = counts(gold) - counts(best) and the loss l = score(best) -
score(gold) + cost, after a mistake

    w <- w + l / (sum of v d^2 + gamma) v d,        1 / v <- 1 / v + d^2 / gamma
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldcraft import _core
from fieldcraft.optimisers.passive_aggressive import COSTS
from fieldcraft.optimisers.stochastic import AVERAGES, MistakeDriven, mask_of
from fieldcraft.problems.protocols import Passes


@dataclass(frozen=True)
class AROW(MistakeDriven):
    """Settings of AROW; see MistakeDriven.

    Parameters
    ----------
    variance : of each weight at the start; > 0
    gamma : the larger, the smaller the steps and the slower variances fall; > 0
    cost : what n wrong labels cost: "one", "root" (the square root of n) or "hamming" (n)
    average : None for the last weights, "uniform" or "linear" for a mean over all steps

    >>> AROW(gamma=2.0).variance
    1.0
    """

    variance: float = 1.0
    gamma: float = 1e4
    cost: str = "root"
    average: str | None = "uniform"

    name = "arow"

    def check(self) -> None:
        super().check()
        self.positive("variance", "gamma")
        self.one_of("cost", COSTS)
        self.one_of("average", AVERAGES)

    def make(self, problem: Passes, rate: float) -> Any:
        del rate
        return _core.arow(
            problem.passes(),
            mask_of(problem),
            AVERAGES[self.average],
            float(self.variance),
            float(self.gamma),
            COSTS[self.cost],
        )
