"""Generalised and improved iterative scaling, for chains with features that are nowhere negative.

A lower bound on what a change d of the weights gains touches at d = 0 and falls apart into the weights
(Darroch and Ratcliff 1972; Della Pietra et al. 1997; algorithms S and T of Lafferty et al. 2001):

    gain(d) >= sum over k of  d_k counts_k  -  sum over x of E_x[f_k] (exp(d_k T(x)) - 1) / T(x)

with T(x) >= the sum of all features over a sequence, whatever its labels; what is missing from T(x) is the
share of a slack feature whose weight does not change. Its maximum per weight solves, by Newton's method
and with the Gaussian's term,

    counts_k  =  sum over x of E_x[f_k] exp(d_k T(x))  +  precision_k (w_k + d_k - mean_k)

GIS takes one T for the corpus, IIS one per group of similar sequences (problems/scaling.py). T is in the
hundreds for sentences, so the bound's step is some hundred times too short: it is stretched by a factor
that grows while it succeeds (Salakhutdinov and Roweis, Adaptive overrelaxed bound optimization, 2003). A
step that would raise the objective is not taken: the factor is cut, down to the bound's own step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.optimisers.run import Floats, GradientOptimiser, Run, State
from fieldcraft.problems.protocols import Scaling

NEWTON = 8  # Newton steps per weight at the most; a step that is not quite the best one is good enough
CLOSE = 1e-3  # ... and fewer when T d changes by less
STEEPEST = 300.0  # |T d| beyond which exp would overflow
BLOCK = 8192  # weights that are solved for together: their arrays stay in the cache
LARGEST = 300_000  # tokens; beyond, a training takes more than a quarter of an hour
CUTS = 40  # how often a step may be cut in one iteration


@dataclass(frozen=True)
class IterativeScaling(GradientOptimiser):
    """Settings of iterative scaling; see GradientOptimiser for the others.

    Parameters
    ----------
    stretch : growth of the step's factor after each iteration; 1 takes the bound's own steps
    """

    max_iterations: int = 5000
    stretch: float = 1.25

    name: ClassVar[str]
    needs: ClassVar[str] = "scaling"
    n_parts: ClassVar[int]

    def check(self) -> None:
        if not isinstance(self.stretch, (int, float)) or not 1.0 <= self.stretch <= 4.0:
            raise InputError(
                f"{type(self).__name__}: stretch is {self.stretch!r}; "
                "give a number from 1 (the bound's own steps) to 4"
            )

    def fits(self, size: Any) -> bool:
        return bool(size.tokens <= LARGEST)

    def requests(self) -> dict[str, Any]:
        return {"n_parts": self.n_parts}

    def start(self, problem: Scaling, weights: Floats) -> IterativeScalingRun:
        """A run from ``weights``."""
        return IterativeScalingRun(self, problem, weights)


@dataclass(frozen=True)
class GIS(IterativeScaling):
    """Generalised iterative scaling: one T for all sequences; see IterativeScaling."""

    name = "gis"
    n_parts = 1


@dataclass(frozen=True)
class IIS(IterativeScaling):
    """Improved iterative scaling: a T for each of four groups of sequences; see IterativeScaling."""

    name = "iis"
    n_parts = 4


class IterativeScalingRun(Run):
    """Iterative scaling under way."""

    problem: Scaling

    def __init__(self, settings: IterativeScaling, problem: Scaling, start: Floats) -> None:
        super().__init__(settings, problem, start)
        self._mean, self._precision = problem.quadratic
        self.factor = 1.0

    def remembers(self) -> bool:
        return False

    def search(self) -> bool:
        origin, change = self.weights.copy(), self._change()
        gradient = self.gradient.copy()
        for _ in range(CUTS):
            self.weights[:] = origin + self.factor * change
            value = self.evaluate(self.weights, self.gradient)
            if math.isfinite(value) and value < self.value:
                self.value = value
                self.factor *= self.settings.stretch
                return True
            self.factor = max(1.0, 0.25 * self.factor) if self.factor > 1.0 else 0.5 * self.factor
        self.weights[:], self.gradient[:], self.factor = origin, gradient, 1.0
        return False

    def _change(self) -> Floats:
        """[F] the step that maximises the bound, some thousand weights at a time."""
        n = self.problem.n_variables
        mean, precision = (np.broadcast_to(part, n) for part in (self._mean, self._precision))
        change = np.empty(n)
        for first in range(0, n, BLOCK):
            at = slice(first, first + BLOCK)
            rest = self.problem.empirical[at] - precision[at] * (self.weights[at] - mean[at])
            change[at] = self._solve(at, rest, precision[at])
        if self.problem.mask is not None:
            change[~self.problem.mask] = 0.0
        return change

    def _solve(self, at: slice, rest: Floats, precision: Floats) -> Floats:
        """The root d of rest = sum of expected exp(T d) + precision d, which rises in d."""
        totals, expected = self.problem.totals, self.problem.expected[:, at]  # [B], [B, block]
        limit = STEEPEST / totals.max()
        d = np.clip(self._first_guess(at), -limit, limit)
        for _ in range(NEWTON):
            grown = expected * np.exp(np.multiply.outer(totals, d))
            slope = np.maximum(totals @ grown + precision, 1e-300)
            step = (rest - grown.sum(axis=0) - precision * d) / slope
            d = np.clip(d + step, -limit, limit)
            if np.abs(step).max(initial=0.0) * totals.max() < CLOSE:
                break
        return d

    def _first_guess(self, at: slice) -> Floats:
        """The solution without a prior if every sequence had the feature's mean T."""
        totals, expected = self.problem.totals, self.problem.expected[:, at]
        summed = np.maximum(expected.sum(axis=0), 1e-300)
        wanted = np.clip(self.problem.empirical[at] / summed, 1e-3, 1e3)
        guess: Floats = np.log(wanted) * summed / np.maximum(totals @ expected, 1e-300)
        return guess

    def state(self) -> State:
        return {**super().state(), "factor": np.array([self.factor])}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.factor = float(np.asarray(state["factor"], np.float64)[0])
        self.problem.value_and_gradient(self.weights, self.gradient)  # expected counts again
