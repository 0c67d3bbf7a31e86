"""Dual coordinate ascent for the likelihood with a Gaussian prior.

Every sequence keeps marginals of its own, and the weights are always what these imply; a step mixes a
sequence's marginals with what the model says now (native/dual_ascent.hpp has the equations and the step
length). An iteration is a pass over the corpus in a random order. The dual value D is a lower bound of the
minimum, so that the gap to the objective tells how much there is left to gain:

    stop when  objective - D <= gap * |objective|

Where the penalty is weak the gap closes slowly; then L-BFGS goes on from the weights that were reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.run import Floats, Optimiser, Run, State

EXACT_EVERY = 10  # passes between exact values of the objective while the gap is still wide
WATCHED = 4  # passes over which the pace is judged


@dataclass(frozen=True)
class DualAscent(Optimiser):
    """Settings of dual coordinate ascent.

    Parameters
    ----------
    max_iterations : stop after so many passes (and steps of L-BFGS)
    gap : stop when the objective is at most this fraction above its minimum, which the dual value proves
    patience : passes that it may still need at its pace before L-BFGS takes over
    budget : megabytes of stored marginals up to which "auto" picks it
    seed : of the order of sequences
    """

    gap: float = 1e-5
    patience: int = 60
    budget: float = 512.0
    seed: int = 0

    name = "dual_ascent"

    def check(self) -> None:
        """Refuse settings that make no sense."""
        if not self.gap > 0:
            raise InputError(f"DualAscent: gap is {self.gap!r}; it must be greater than 0")

    def start(self, problem: Any, weights: Floats) -> Run:
        """A run; from weights other than the prior's means, which no marginals imply, it is one of L-BFGS."""
        mean, _ = problem.quadratic
        if np.any(weights != mean):
            return self.finish().start(problem, weights)
        return DualRun(self, problem, weights)

    def finish(self) -> LBFGS:
        """What takes over."""
        return LBFGS(max_iterations=self.max_iterations, tolerance=self.tolerance)

    @staticmethod
    def megabytes(n_tokens: int, n_sequences: int, n_labels: int) -> float:
        """Room for the stored marginals."""
        return float(_core.dual_ascent_bytes(n_tokens, n_sequences, n_labels)) / 1e6


class DualRun(Run):
    """Dual ascent under way."""

    def __init__(self, settings: DualAscent, problem: Any, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self.native = problem.dual_ascent()
        self.bound = -math.inf  # the dual value
        self.gaps: list[float] = []  # as they were met during the last passes
        self.exact = True  # is ``value`` the objective itself, not an estimate
        self.successor: Run | None = None

    def step(self) -> bool:
        """One pass; or one step of L-BFGS, once that has taken over."""
        if self.successor is None and self._slow():
            self._hand_over()
        if self.successor is not None:
            return self._follow()
        order = np.random.default_rng([self.settings.seed, self.iteration]).permutation(self.native.n_sequences)
        met, self.bound = self.native.run(order.astype(np.int64))
        self.native.weights(self.weights)
        self.iteration += 1
        self.gaps = [*self.gaps[-WATCHED:], met]
        self.exact = met <= 2 * self._wanted() or self.iteration % EXACT_EVERY == 0
        self.value = self.evaluate(self.weights, self.gradient) if self.exact else self.bound + met
        return True

    def _wanted(self) -> float:
        return float(self.settings.gap) * abs(self.value)

    def finished(self) -> str | None:
        """Why there is no more to gain, or None."""
        if self.successor is None and self.exact and self.value - self.bound <= self._wanted():
            return "duality gap small enough"
        return None

    def gradient_norm(self) -> float:
        """Not a number where the gradient was not computed."""
        return super().gradient_norm() if self.exact else math.nan

    def _slow(self) -> bool:
        """Would it take more than ``patience`` further passes at the present pace."""
        if len(self.gaps) <= WATCHED:
            return False
        pace = math.log(self.gaps[-1] / self.gaps[0]) / WATCHED
        return pace * self.settings.patience > math.log(self._wanted() / self.gaps[-1])

    def _hand_over(self) -> None:
        self.successor = self.settings.finish().start(self.problem, self.weights)
        self.successor.iteration = self.iteration
        self.successor.begin()
        self.native = None  # its memory is free for the history

    def _follow(self) -> bool:
        assert self.successor is not None
        went_on = self.successor.step()
        self.weights, self.gradient = self.successor.weights, self.successor.gradient
        self.value, self.iteration, self.exact = self.successor.value, self.successor.iteration, True
        self.evaluations += 1
        self.why_stuck = self.successor.why_stuck
        return went_on

    def state(self) -> State:
        """Marginals, or what L-BFGS needs."""
        numbers = {"dual": np.array([self.bound, float(self.exact)]), "gaps": np.array(self.gaps)}
        if self.successor is not None:
            later = {f"successor.{name}": array for name, array in self.successor.state().items()}
            return {**super().state(), **numbers, **later}
        return {**super().state(), **numbers, **self.native.state()}

    def restore(self, state: State) -> None:
        """Undo ``state``."""
        super().restore(state)
        bound, exact = np.asarray(state["dual"], np.float64)
        self.bound, self.exact = float(bound), bool(exact)
        self.gaps = np.asarray(state["gaps"], np.float64).tolist()
        start = "successor."
        later = {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}
        if later:
            self.successor = self.settings.finish().start(self.problem, self.weights)
            self.successor.restore(later)
            self.native = None
        else:
            parts = (state[name] for name in ("node", "pairs", "entropy", "overlap"))
            self.native.restore(*parts, self.weights)
