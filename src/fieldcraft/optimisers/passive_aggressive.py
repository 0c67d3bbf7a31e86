"""Passive-aggressive learning (Crammer et al. 2006): the smallest change that puts a mistake right.

With d = counts(gold) - counts(best) and the loss l = score(best) - score(gold) + cost:

    PA     w <- w + l / |d|^2 d
    PA-I   w <- w + min(c, l / |d|^2) d
    PA-II  w <- w + l / (|d|^2 + 1 / (2 c)) d
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldcraft import _core
from fieldcraft.optimisers.stochastic import AVERAGES, MistakeDriven, mask_of
from fieldcraft.problems.protocols import Passes

VARIANTS = {"PA": 0, "PA-I": 1, "PA-II": 2}
COSTS = {"one": 0, "root": 1, "hamming": 2}  # of n wrong labels: 1, sqrt(n), n


@dataclass(frozen=True)
class PassiveAggressive(MistakeDriven):
    """Settings of passive-aggressive learning; see MistakeDriven.

    Parameters
    ----------
    variant : "PA", "PA-I" or "PA-II"
    c : how far an update may go (PA-I, PA-II); > 0
    cost : what n wrong labels cost: "one", "root" (the square root of n) or "hamming" (n)
    average : None for the last weights, "uniform" or "linear" for a mean over all steps

    >>> PassiveAggressive(variant="PA-II").c
    1.0
    """

    variant: str = "PA-I"
    c: float = 1.0
    cost: str = "root"
    average: str | None = "uniform"

    name = "passive_aggressive"

    def check(self) -> None:
        super().check()
        self.positive("c")
        self.one_of("variant", VARIANTS)
        self.one_of("cost", COSTS)
        self.one_of("average", AVERAGES)

    def make(self, problem: Passes, rate: float) -> Any:
        del rate
        return _core.passive_aggressive(
            problem.passes(),
            mask_of(problem),
            AVERAGES[self.average],
            VARIANTS[self.variant],
            float(self.c),
            COSTS[self.cost],
        )
