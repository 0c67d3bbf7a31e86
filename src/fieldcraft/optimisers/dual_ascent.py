"""Dual coordinate ascent for the likelihood with a Gaussian prior, inside accelerated proximal-point steps.

Every sequence keeps its marginals, and the weights are always what these imply; a step mixes a
sequence's marginals with what the model says now (native/dual_ascent.hpp has the equations and the step
length). An iteration is a pass over the corpus in a random order. Where the penalty is weak such passes alone
are slow; so they work on a stronger penalty, which draws to a point that follows the solution
(native/proximal_point.hpp) and moves after every second pass.

The marginals imply a lower bound of the minimum, the dual of the problem itself, so the gap to the objective
tells how much there is left to gain. A pass meets each sequence's part of the gap; their sum estimates the
whole, and the objective itself is evaluated only where the estimate says that the end is near. The objective
need not fall in every pass: the best weights are kept. Should the gap not close, L-BFGS goes on from them.
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
FEWEST = 40  # sequences from which it does: a step moves a whole one, and two of them move together
WEAKEST = 300.0  # variance up to which it does: beyond it the gap may not close
TINY = 1e-6
EXACT_EVERY = 10  # passes between exact values of the objective while the gap is still wide
WHOLE_EVERY = 4  # passes; in between only the sequences with most of the gap are visited
LEFT_OUT = 0.15  # share of the gap that may be left alone in these
NEAR = 5.0  # times the gap wanted: from there on the objective is evaluated after every outer step
OUTER = 2  # passes per proximal point
TOGETHER = 160  # tokens of a group at most: those that share features overshoot together
MEETING = 8.0  # of them that have the same feature, on average over the features of a token
PULL = 2.2  # the first proximal penalty; too weak is slow in each pass, too strong needs more of them
FIRST = 5  # passes before the pace is judged
SLACK = 0.01  # of the objective, by which an estimate may lie below the lower bound
MEMORY = 20  # steps that L-BFGS remembers when it takes over


@dataclass(frozen=True)
class DualAscent(DualOptimiser):
    """Settings of dual coordinate ascent; see DualOptimiser for the others.

    Parameters
    ----------
    patience : passes in which the gap must halve, or L-BFGS takes over
    budget : megabytes that the stored marginals may take, 4 (tokens + sequences * labels) * labels bytes,
        and 4 for each occurrence of a feature of label pairs that looks at the input

    >>> DualAscent(gap=1e-4).gap
    0.0001
    """

    max_iterations: int = 1000
    gap: float = 5e-6
    patience: int = 80
    budget: int = 512

    name: ClassVar[str] = "dual_ascent"

    def check(self) -> None:
        super().check()
        self.check_whole("patience", "budget")

    def suits(self, size: Any) -> bool:
        """Large corpora; small ones are done with L-BFGS before it would matter."""
        return size is not None and size.tokens >= LARGE and not self.objection(size)

    def objection(self, size: Any) -> str:
        """What keeps it from a large corpus.

        Where a held-out score may end training: the weights of its first passes are far from useful where
        the penalty is weak, so that scores rise late.
        """
        if size.tokens < LARGE:
            return ""
        needed = self.stored_bytes(size)
        reasons = {
            "it is for chains of plain labels": not size.dual,
            f"there are fewer than {FEWEST} sequences": size.sequences < FEWEST,
            "some features have large values": size.large_values,
            "a held-out score may end the training": size.patient,
            "some weights have no quadratic penalty": size.precision <= 0,
            f"the penalty is very weak, with a variance above {WEAKEST:g}": size.precision * WEAKEST < 1,
            "training continues from given weights": not size.fresh,
            f"its marginals need {needed >> 20} MB, more than {self.budget}": needed > self.budget * 2**20,
        }
        return next((reason for reason, applies in reasons.items() if applies), "")

    def stored_bytes(self, size: Any) -> int:
        """Bytes of the stored marginals."""
        return int(_core.dual_ascent_bytes(size.tokens, size.sequences, size.labels, size.edge_entries))

    def start(self, problem: Dual, weights: Floats) -> Any:
        """A run; from weights other than the prior's means, which no marginals imply, it is one of L-BFGS."""
        if np.any(weights) and np.any(weights != problem.mean):
            return self.successor().start(problem, weights)
        return DualAscentRun(self, problem)

    def successor(self) -> LBFGS:
        """Who takes over where it is slow."""
        return LBFGS(max_iterations=self.max_iterations, memory=MEMORY, objective_tolerance=self.gap / 5)


def first_ratio(problem: Dual) -> float:
    """The first proximal precision as a multiple of the prior's, for all weights.

    With crowd, the features that fire at a token, their product with the variance is how much a step of one
    token changes its own scores; the square root of it lies between no help and no progress.
    """
    free = problem.precision[np.isfinite(problem.precision)]
    spread = float(np.mean(1.0 / np.sqrt(free))) if len(free) else 1.0
    return max(PULL * math.sqrt(problem.crowd) * spread, TINY)


def together(problem: Dual) -> int:
    """Tokens that take their steps at the same weights: as many as do no harm, since threads share them."""
    return max(int(min(MEETING / max(problem.sharing, TINY), TOGETHER)), 1)


class DualAscentRun(DualRun):
    """Dual ascent under way."""

    parts = (
        *("node", "pairs", "entries", "entropy", "slack", "parts", "gaps", "overlap", "stepped", "met"),
        *("live", "towards", "before", "ratio"),
    )

    def __init__(self, settings: DualAscent, problem: Dual) -> None:
        settings.refuse_beyond(_core.dual_ascent_bytes(*problem.sizes, problem.n_entries), settings.budget)
        pieces = problem.pieces(settings.name)
        super().__init__(
            settings, problem, _core.dual_ascent(*pieces, first_ratio(problem), together(problem))
        )
        self.best = self.weights.copy()  # the lowest point whose objective was evaluated
        self.least = math.inf  # its objective
        self.estimate = math.inf  # of the gap, as the last pass met it
        self.halved = (math.inf, 0)  # the estimate when it had last halved, and after which pass
        self.later: Run | None = None  # L-BFGS, once it has taken over

    @property
    def gap(self) -> float:
        """Upper bound on the distance of the best objective to its minimum; nan without a dual."""
        return math.nan if self.native is None else self.least - self.dual

    def objective(self) -> float:
        """That of ``solution``; an estimate where it was not evaluated."""
        return min(self.least, self.value)

    def solution(self) -> Floats:
        """The best weights known: those evaluated, or the current ones where the estimate is lower."""
        if self.later is not None:
            return self.later.solution()
        return self.best if self.least <= self.value else self.weights

    def refresh(self) -> None:
        self.take_weights()
        self.value = self.evaluate_value(self.weights)
        self.dual = self.native.dual() + self.problem.constant
        self._note()

    def step(self) -> bool:
        """One pass; or one step of L-BFGS, once that has taken over."""
        if self.later is None and self._slow():
            self._hand_over()
        return bool(super().step()) if self.later is None else self._follow(self.later)

    def advance(self) -> None:
        met = self.native.run(self.order())
        bound, distance = self.native.bounds(self.weights)
        bound += self.problem.constant
        self.dual, self.estimate = max(self.dual, bound), met + distance
        self.value = self._plausible(bound + self.estimate)
        self.exact = self._worth_an_evaluation()
        if self.exact:
            self.value = self.evaluate_value(self.weights)
            self._note()
        self._note_pace()
        if (self.iteration + 1) % OUTER == 0:
            self.native.accelerate()

    def _plausible(self, value: float) -> float:
        """An estimate far below the lower bound, a difference of huge numbers, says nothing: infinity."""
        return value if value >= self.dual - SLACK * abs(self.least) else math.inf

    def _worth_an_evaluation(self) -> bool:
        passes = self.iteration + 1
        near, wanted = self.estimate <= NEAR * self._wanted(), self.estimate <= 1.1 * self._wanted()
        often = OUTER if near else EXACT_EVERY
        return wanted or passes % often == 0 or passes >= self.settings.max_iterations

    def _note(self) -> None:
        if self.value < self.least:
            self.least = self.value
            self.best[:] = self.weights

    def _note_pace(self) -> None:
        if self.estimate <= self.halved[0] / 2:
            self.halved = self.estimate, self.iteration + 1

    def _slow(self) -> bool:
        """Has the gap not halved in ``patience`` passes."""
        if self.iteration < FIRST or self.gap <= self._wanted():
            return False
        return bool(self.iteration - self.halved[1] >= self.settings.patience)

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
        return float(self.settings.gap) * abs(self.objective())

    def gradient_norm(self) -> float:
        """Not a number before L-BFGS has taken over: gradients are not computed."""
        return math.nan if self.later is None else super().gradient_norm()

    def _hand_over(self) -> None:
        self._give_to(self.settings.successor().start(self.problem, self.solution()))
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

    def _take_over(self, run: Run) -> None:
        self.weights, self.gradient, self.value = run.weights, run.gradient, run.value
        self.least = self.value
        self.iteration, self.evaluations = run.iteration, run.evaluations
        self.exact, self.why_stuck, self.searches = True, run.why_stuck, run.searches

    def state(self) -> State:
        """Marginals, or what L-BFGS needs."""
        if self.later is not None:
            own = {f"later.{name}": array for name, array in self.later.state().items()}
            return {**own, "since": np.array([self.since])}
        numbers = [self.least, self.estimate, *self.halved, self.exact]
        return {**super().state(), "kept": self.best, "outer": np.array(numbers)}

    def restore(self, state: State) -> None:
        """Undo ``state``."""
        later = {k.removeprefix("later."): v for k, v in state.items() if k.startswith("later.")}
        if not later:
            super().restore(state)
            self.best[:] = state["kept"]
            self.least, self.estimate, gap, passes, exact = np.asarray(state["outer"], np.float64).tolist()
            self.halved, self.exact = (gap, int(passes)), bool(exact)
            return
        run = self.settings.successor().start(self.problem, self.weights)
        run.restore(later)
        self._give_to(run)
        self._take_over(run)
        self.since = int(state["since"][0])
