"""SMO for the structured margin: steps on pairs of labellings.

A sequence's dual variables are labellings with shares that sum to one. A visit finds the labelling that
violates the margin most, then moves share to the best of them from the worst that has any, in closed form
(native/smo.hpp). Shares reach zero exactly, which is why it ends quicker than Frank-Wolfe.
B. Taskar, C. Guestrin, D. Koller, Max-margin Markov networks, 2003 (on pairs of marginals there).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft import _core
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Dual


@dataclass(frozen=True)
class SMO(DualOptimiser):
    """Settings of SMO; see DualOptimiser for the others.

    Parameters
    ----------
    steps : pairs that a visit of a sequence works on, at the most
    labelings : how many labellings a sequence keeps; more only where all of them have shares

    >>> SMO(steps=3).steps
    3
    """

    steps: int = 2
    labelings: int = 50

    name: ClassVar[str] = "smo"

    def check(self) -> None:
        super().check()
        self.check_whole("steps", "labelings")

    def suits(self, size: Any) -> bool:
        """Wherever it can: every weight penalised, no start, no label pairs that look at the input."""
        if size is None or size.observed_pairs:
            return False
        return bool(size.precision > 0 and size.fresh and size.dual)

    def start(self, problem: Dual, weights: Floats) -> SMORun:
        """A run from the prior's means."""
        del weights
        return SMORun(self, problem)


class SMORun(DualRun):
    """SMO under way."""

    parts = ("counts", "shares", "labels")

    def __init__(self, settings: SMO, problem: Dual) -> None:
        pieces = problem.pieces(settings.name)
        costs: Any = problem.costs  # these methods are for margins alone, which have costs
        super().__init__(settings, problem, _core.pair_ascent(*pieces, costs, settings.labelings))

    def advance(self) -> None:
        self.native.run(self.order(), self.settings.steps)
        self.refresh()
