"""Dual coordinate ascent for the likelihood with a Gaussian prior.

Every sequence keeps its marginals, and the weights are always what these imply; a step mixes a
sequence's marginals with what the model says now (native/dual_ascent.hpp has the equations and the step
length). An iteration is a pass over the corpus in a random order. The dual value is a lower bound of the
minimum, so the gap to the objective tells how much there is left to gain.

A pass meets each sequence's part of the gap; their sum estimates the whole, and the objective itself is
evaluated only where the estimate says that the end is near. Where the penalty is weak the gap closes slowly;
then L-BFGS goes on from the weights that were reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.run import Floats, Run, State
from fieldcraft.problems.protocols import Dual

LARGE = 20_000  # tokens from which "auto" picks it
TINY = 1e-300
EXACT_EVERY = 10  # passes between exact values of the objective while the gap is still wide
WHOLE_EVERY = 4  # passes; in between only the sequences with most of the gap are visited
LEFT_OUT = 0.15  # share of the gap that may be left alone in these
WATCHED = WHOLE_EVERY  # passes over which the pace is judged


@dataclass(frozen=True)
class DualAscent(DualOptimiser):
    """Settings of dual coordinate ascent; see DualOptimiser for the others.

    Parameters
    ----------
    patience : passes that it may still need at its pace before L-BFGS takes over
    budget : megabytes that the stored marginals may take, 4 (tokens + sequences * labels) * labels bytes

    >>> DualAscent(gap=1e-4).gap
    0.0001
    """

    max_iterations: int = 500
    gap: float = 1e-5
    patience: int = 60
    budget: int = 512

    name: ClassVar[str] = "dual_ascent"

    def check(self) -> None:
        super().check()
        self.check_whole("patience", "budget")

    def suits(self, size: Any) -> bool:
        """Large corpora within the budget; small ones are done with L-BFGS before it would matter.

        Not where a held-out score ends training: the weights of its first passes are far from useful where
        the penalty is weak, so that scores rise late.
        """
        if size is None or size.tokens < LARGE or size.observed_pairs or size.large_values or size.patient:
            return False
        return bool(size.strict and size.fresh and self.stored_bytes(size) <= self.budget * 2**20)

    def stored_bytes(self, size: Any) -> int:
        """Bytes of the stored marginals."""
        return int(_core.dual_ascent_bytes(size.tokens, size.sequences, size.labels))

    def start(self, problem: Dual, weights: Floats) -> Any:
        """A run; from weights other than the prior's means, which no marginals imply, it is one of L-BFGS."""
        if np.any(weights) and np.any(weights != problem.mean):
            return self.successor().start(problem, weights)
        return DualAscentRun(self, problem)

    def successor(self) -> LBFGS:
        """Who takes over where it is slow."""
        return LBFGS(max_iterations=self.max_iterations, objective_tolerance=self.gap / 10)


class DualAscentRun(DualRun):
    """Dual ascent under way."""

    parts = ("node", "pairs", "entropy", "gaps", "overlap", "live")

    def __init__(self, settings: DualAscent, problem: Dual) -> None:
        settings.refuse_beyond(_core.dual_ascent_bytes(*problem.sizes), settings.budget)
        super().__init__(settings, problem, _core.dual_ascent(*problem.pieces(settings.name)))
        self.gaps: list[float] = []  # as they were met in the last passes
        self.later: Run | None = None  # L-BFGS, once it has taken over

    def step(self) -> bool:
        """One pass; or one step of L-BFGS, once that has taken over."""
        if self.later is None and self._slow():
            self._hand_over()
        return bool(super().step()) if self.later is None else self._follow(self.later)

    def advance(self) -> None:
        met, dual = self.native.run(self.order())
        self.gaps = [*self.gaps[-WATCHED:], met]
        self.exact = met <= 2 * self._wanted() or (self.iteration + 1) % EXACT_EVERY == 0
        if self.exact:
            self.refresh()
            return
        self.take_weights()
        self.dual = dual + self.problem.constant
        self.value = self.dual + met

    def order(self) -> NDArray[np.int64]:
        """All sequences, or in most passes only those with nearly all of the gap."""
        order = super().order()
        if self.iteration < WHOLE_EVERY or self.iteration % WHOLE_EVERY == 0:
            return order
        gaps = self.native.gaps()
        ranked = np.argsort(gaps, kind="stable")
        below = np.cumsum(gaps[ranked])
        matters = np.empty(len(gaps), np.bool_)
        matters[ranked] = below > LEFT_OUT * below[-1]
        return order[matters[order]]

    def _wanted(self) -> float:
        return float(self.settings.gap) * abs(self.value)

    def gradient_norm(self) -> float:
        """Not a number where the gradient was not computed."""
        return super().gradient_norm() if self.exact else math.nan

    def _slow(self) -> bool:
        """Would it take more than ``patience`` further passes at the present pace."""
        if len(self.gaps) <= WATCHED or self.gaps[-1] <= self._wanted():
            return False
        first, last, wanted = (
            math.log(max(gap, TINY)) for gap in (self.gaps[0], self.gaps[-1], self._wanted())
        )
        return bool((last - first) / WATCHED * self.settings.patience > wanted - last)

    def _hand_over(self) -> None:
        self._give_to(self.settings.successor().start(self.problem, self.weights))
        assert self.later is not None
        self.later.iteration = self.since = self.iteration
        self.later.evaluations = self.evaluations
        self.later.begin()

    def _give_to(self, run: Run) -> None:
        """From now on the rules that end the training are those of L-BFGS too."""
        self.later, self.settings = run, run.settings
        self.native = None  # its memory is free for the history

    def _follow(self, run: Run) -> bool:
        went_on: bool = run.step()
        self._take_over(run)
        return went_on

    def solution(self) -> Floats:
        return self.weights if self.later is None else self.later.solution()

    def _take_over(self, run: Run) -> None:
        self.weights, self.gradient, self.value = run.weights, run.gradient, run.value
        self.iteration, self.evaluations = run.iteration, run.evaluations
        self.exact, self.why_stuck, self.searches = True, run.why_stuck, run.searches

    def state(self) -> State:
        """Marginals, or what L-BFGS needs."""
        if self.later is not None:
            own = {f"later.{name}": array for name, array in self.later.state().items()}
            return {**own, "since": np.array([self.since])}
        return {**super().state(), "met": np.array(self.gaps), "exact": np.array([self.exact])}

    def restore(self, state: State) -> None:
        """Undo ``state``."""
        later = {k.removeprefix("later."): v for k, v in state.items() if k.startswith("later.")}
        if not later:
            super().restore(state)
            self.gaps = np.asarray(state["met"], np.float64).tolist()
            self.exact = bool(state["exact"][0])
            return
        run = self.settings.successor().start(self.problem, self.weights)
        run.restore(later)
        self._give_to(run)
        self._take_over(run)
        self.since = int(state["since"][0])
