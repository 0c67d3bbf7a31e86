"""Absolute values without kinks: every weight as the difference of two variables that are not negative.

    w = u - v,  u, v >= 0:    F(u, v) = f(u - v) + sum above u + below v

has a gradient everywhere, and where above + below > 0 one of u and v is zero at the minimum, which is then
that of f(w) + sum above max(w, 0) + below max(-w, 0). Layout: u [F], then v [F].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldcraft.problems.protocols import Gradient

Floats = NDArray[np.float64]


class SplitProblem:
    """A problem with an absolute-value penalty, over the two parts of its weights.

    Parameters
    ----------
    plain : the problem over the weights
    bounds : (lower, upper) of the weights, each of length 1 or F
    """

    def __init__(self, plain: Gradient, bounds: tuple[Floats, Floats]) -> None:
        if plain.l1 is None:
            raise ValueError("there is no absolute-value part to split")
        self.plain, self.n_jobs = plain, plain.n_jobs
        self.mask: NDArray[np.bool_] | None = None
        self.l1: tuple[Floats, Floats] | None = plain.l1
        self.n_weights = plain.n_variables
        self.n_variables = 2 * self.n_weights
        lower, upper = (np.broadcast_to(bound, self.n_weights) for bound in bounds)
        self.part_bounds = (
            np.maximum(np.concatenate([lower, -upper]), 0.0),
            np.maximum(np.concatenate([upper, -lower]), 0.0),
        )
        self.bounds: tuple[Floats, Floats] | None = self.part_bounds
        self._strengths = plain.l1
        self._gradient = np.empty(self.n_weights)

    def lift(self, weights: Floats) -> Floats:
        """[2 F] the parts of weights."""
        parts: Floats = np.maximum(np.concatenate([weights, -weights]), 0.0)
        return parts

    def lower(self, parts: Floats) -> Floats:
        """[F] the weights that parts stand for."""
        weights: Floats = parts[: self.n_weights] - parts[self.n_weights :]
        return weights

    def value_and_gradient(self, parts: Floats, gradient: Floats) -> float:
        """F(u, v), penalty included; its gradient is written into ``gradient``."""
        n, (above, below) = self.n_weights, self._strengths
        value = self.plain.value_and_gradient(self.lower(parts), self._gradient)
        np.add(self._gradient, above, out=gradient[:n])
        np.subtract(below, self._gradient, out=gradient[n:])
        if self.plain.mask is not None:
            gradient[:n][~self.plain.mask] = 0.0
            gradient[n:][~self.plain.mask] = 0.0
        return value + float(np.sum(above * parts[:n]) + np.sum(below * parts[n:]))

    def l1_value(self, parts: Floats) -> float:
        """The value has it already."""
        del parts
        return 0.0

    def curvatures(self) -> Floats | None:
        """[2 F] those of the weights, twice."""
        curved = self.plain.curvatures()
        return None if curved is None else np.concatenate([curved, curved])

    def shared(self, start: Floats) -> None:
        """Variables with bounds are not shared."""
        del start

    def scales(self) -> Floats | None:
        """None: bounds are those of the weights."""
        return None

    def first_step(self, gradient: Floats, out: Floats) -> bool:
        """The bounds of the parts make the first step short: none is offered."""
        del gradient, out
        return False
