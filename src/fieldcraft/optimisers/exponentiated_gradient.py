"""Exponentiated gradient on the dual, whose variables are themselves chains; for margin and likelihood.

Each sequence's distribution over labellings is log-linear, q(y) ~ exp(parameters(y)); a step adds to the
parameters (native/exponentiated_gradient.hpp). Each sequence has a step size that adapts itself, and no step
lowers the dual.
M. Collins, A. Globerson, T. Koo, X. Carreras, P. Bartlett, Exponentiated gradient algorithms for conditional
random fields and max-margin Markov networks, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldcraft import _core
from fieldcraft.optimisers.dual import DualOptimiser, DualRun
from fieldcraft.optimisers.run import Floats
from fieldcraft.problems.protocols import Dual


@dataclass(frozen=True)
class ExponentiatedGradient(DualOptimiser):
    """Settings of exponentiated gradient; see DualOptimiser for the others.

    Parameters
    ----------
    budget : megabytes that the dual variables may take, 16 (tokens * labels + sequences * labels^2) bytes

    >>> ExponentiatedGradient(gap=1e-4).gap
    0.0001
    """

    budget: int = 512

    name: ClassVar[str] = "exponentiated_gradient"
    most_tokens: ClassVar[float] = 300_000

    def check(self) -> None:
        super().check()
        self.check_whole("budget")

    def start(self, problem: Dual, weights: Floats) -> ExponentiatedGradientRun:
        """A run from distributions that nearly are the gold labellings."""
        del weights
        return ExponentiatedGradientRun(self, problem)


class ExponentiatedGradientRun(DualRun):
    """Exponentiated gradient under way."""

    parts = ("node", "pairs", "rate")

    def __init__(self, settings: ExponentiatedGradient, problem: Dual) -> None:
        settings.refuse_beyond(_core.exponentiated_gradient_bytes(*problem.sizes), settings.budget)
        pieces = problem.pieces(settings.name)
        super().__init__(settings, problem, _core.exponentiated_gradient(*pieces, problem.costs))
