"""Cutting planes for the structured margin, with one slack variable for the corpus or one per sequence.

One slack: sub-gradients of the whole loss bound it from below; the best weights under the bounds are a small
quadratic programme (planes.py), whose value never exceeds the minimum of the objective and closes the gap.
An iteration looks at the corpus twice: at the programme's answer, and at a point between the best weights so
far and that answer, where the bounds are tighter. Planes without a share for ``patience`` iterations go.

A slack per sequence: planes are labellings of single sequences. An iteration solves the programme over the
labellings that are kept (native/smo.hpp), then adds those that violate the margin most.
T. Joachims, T. Finley, C.-N. Yu, Cutting-plane training of structural SVMs, 2009; the point between is V.
Franc's and S. Sonnenburg's, 2008.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.planes import Planes
from fieldcraft.optimisers.run import Floats
from fieldcraft.optimisers.simplex_qp import SOLVERS, resolve_solver
from fieldcraft.problems.protocols import Dual

BETWEEN = 0.3  # how far from the best weights towards the programme's answer a second plane is sought
SOLVED, POLISHED = 0.02, 0.1  # the inner programmes are solved to these shares of the gap


@dataclass(frozen=True)
class CuttingPlane(DualOptimiser):
    """Settings of the cutting plane method; see DualOptimiser for the others.

    Parameters
    ----------
    slack : "one" for the whole corpus, or "n" for one per sequence
    solver : of the quadratic programme with one slack: "clarabel", "active_set" (our own), "auto" for
        the first where it is installed
    patience : iterations without a share after which a plane goes
    labelings : how many labellings a sequence keeps, with slack="n"
    passes : most passes of the inner programme over its labellings in an iteration, with slack="n"

    >>> CuttingPlane(slack="n").slack
    'n'
    """

    slack: str = "one"
    solver: str = "auto"
    patience: int = 30
    labelings: int = 100
    passes: int = 20

    name: ClassVar[str] = "cutting_plane"
    most_tokens: ClassVar[float] = 300_000

    def check(self) -> None:
        super().check()
        self.check_whole("patience", "labelings", "passes")
        if self.slack not in RUNS:
            raise InputError(f"CuttingPlane: slack is {self.slack!r}; choose one of {', '.join(RUNS)}")
        if self.solver != "auto" and self.solver not in SOLVERS:
            raise InputError(
                f"CuttingPlane: solver is {self.solver!r}; choose one of auto, {', '.join(SOLVERS)}"
            )
        resolve_solver(self.solver)  # refused before any work where its package is missing

    def start(self, problem: Dual, weights: Floats) -> DualRun:
        """A run from the prior's means."""
        del weights
        run: DualRun = RUNS[self.slack](self, problem)
        return run


class OneSlackRun(DualRun):
    """Cutting planes of the whole loss. ``weights`` are the best so far."""

    parts = ("sizes", "ids", "slopes", "products", "table")

    def __init__(self, settings: CuttingPlane, problem: Dual) -> None:
        self.planes = Planes(1.0 / problem.precision, problem.mean)
        super().__init__(settings, problem, self.planes)
        self._solver = resolve_solver(settings.solver)
        self._answer = self.weights.copy()
        self._slope = np.empty_like(self.weights)

    def refresh(self) -> None:
        """The starting point, with its plane."""
        self.value = math.inf
        self._look(self.weights)
        self.dual = self.planes.dual() + self.problem.constant

    def _look(self, weights: Floats) -> None:
        """Add the plane at ``weights``; they become the current ones if they are the best so far."""
        self.evaluations += 1
        loss = self.problem.loss(weights, self._slope)
        if self.problem.mask is not None:
            self._slope[~self.problem.mask] = 0.0
        self.planes.add(self._slope, loss, weights)
        mean, precision = self.problem.gaussian
        value = loss + _core.gaussian(weights, mean, precision, self._slope, self.problem.n_jobs)
        if value < self.value:
            self.value = float(value)
            self.weights[:], self.gradient[:] = weights, self._slope

    def advance(self) -> None:
        best = self.weights.copy()
        self.planes.solve(self._solver, SOLVED * self.gap)
        self.dual = self.planes.dual() + self.problem.constant
        self.planes.weights(self._answer)
        self._look(self._answer)
        self._look(best + BETWEEN * (self._answer - best))
        self.planes.forget(self.settings.patience)


class SlacksRun(DualRun):
    """Cutting planes of the sequences' losses, one by one."""

    parts = ("counts", "shares", "labels")

    def __init__(self, settings: CuttingPlane, problem: Dual) -> None:
        pieces = problem.pieces(settings.name)
        costs: Any = problem.costs  # these methods are for margins alone, which have costs
        super().__init__(settings, problem, _core.pair_ascent(*pieces, costs, settings.labelings))

    def advance(self) -> None:
        native, gap = self.native, self.gap
        native.explore(0.1 * self.settings.gap * abs(self.value) / self.problem.n_sequences)
        for _ in range(self.settings.passes):
            if native.polish(self.order(), 2) <= POLISHED * gap:
                break
        native.rebuild()
        self.refresh()


RUNS: dict[str, Any] = {"one": OneSlackRun, "n": SlacksRun}
