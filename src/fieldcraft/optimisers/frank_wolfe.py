"""Block-coordinate Frank-Wolfe for the structured margin.

One sequence at a time: its dual variables are mixed with the labelling that violates the margin most, by the
share that raises the dual most, in closed form (native/frank_wolfe.hpp). The dual never falls; there is no
step size to choose, and the duality gap says when to stop.
Structures without native code are asked for planes instead (plane_steps.py).
S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, Block-coordinate Frank-Wolfe optimization for
structural SVMs, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft import _core
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.plane_steps import PlaneSteps
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Dual


@dataclass(frozen=True)
class FrankWolfe(DualOptimiser):
    """Settings of block-coordinate Frank-Wolfe; see DualOptimiser for the others.

    Parameters
    ----------
    average : the weights are the average over all steps, later ones counting more; better after few passes
    budget : megabytes that the dual variables may take, 8 (tokens * labels + sequences * labels^2) bytes for
        chains, 8 for each weight that a graph touches

    >>> FrankWolfe(gap=1e-4, average=True).gap
    0.0001
    """

    max_iterations: int = 1000
    average: bool = False
    budget: int = 512

    name: ClassVar[str] = "frank_wolfe"

    def check(self) -> None:
        super().check()
        self.check_whole("budget")

    def start(self, problem: Dual, weights: Floats) -> DualRun:
        """A run from the prior's means."""
        del weights
        return PlanesRun(self, problem) if problem.by_planes else FrankWolfeRun(self, problem)


class FrankWolfeRun(DualRun):
    """Block-coordinate Frank-Wolfe under way."""

    parts = ("node", "pairs", "cost", "late", "steps")

    def __init__(self, settings: FrankWolfe, problem: Dual) -> None:
        settings.refuse_beyond(_core.frank_wolfe_bytes(*problem.sizes), settings.budget)
        pieces = problem.pieces(settings.name)
        costs: Any = problem.costs  # this method is for margins alone, which have costs
        super().__init__(settings, problem, _core.frank_wolfe(*pieces, costs, settings.average))

    def take_weights(self) -> None:
        """Those of the marginals, or the average where that is wanted."""
        self.native.average(self.weights)


class PlanesRun(DualRun):
    """The same by planes of the sequences' losses."""

    parts = ("slopes", "levels", "late", "steps")

    def __init__(self, settings: FrankWolfe, problem: Dual) -> None:
        sizes = problem.plane_sizes()
        settings.refuse_beyond(8 * int(sizes.sum()), settings.budget)
        super().__init__(settings, problem, PlaneSteps(problem, sizes, average=settings.average))

    def take_weights(self) -> None:
        """Those of the planes, or the average where that is wanted."""
        self.native.average(self.weights)
