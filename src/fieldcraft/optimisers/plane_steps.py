"""Steps of block-coordinate Frank-Wolfe on planes below the sequences' losses.

A sequence i has one plane, a mixture of those that it has met: slopes g_i and level b_i, 0 at first.

    G = sum of g_i,   w = mean - G / precision,   D = sum of b_i + <G, mean> - |G|^2 / 2

with the norm in the metric 1 / precision. A visit mixes the plane (g, b) that touches the loss at w into it,
by the share that raises the dual D most:

    share = (b - b_i + <g - g_i, w>) / |g - g_i|^2,   at most 1

The numerator is the sequence's part of the duality gap, never negative where the plane is the highest one.
Where weights have bounds, w is clipped to them and D = sum of b_i + <G, w> + |w - mean|^2 / 2, with the norm
in the metric precision: what the penalised planes are worth at their minimum. The step above then raises D
by no less than it did, but may not be the best one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.problems.protocols import Dual

Floats = NDArray[np.float64]


class PlaneSteps:
    """A plane for each sequence, and the weights that belong to them."""

    def __init__(self, problem: Dual, sizes: NDArray[np.int64], *, average: bool) -> None:
        self._problem, self._wants_average = problem, average
        self._mean, self._inverse = np.asarray(problem.mean), 1.0 / np.asarray(problem.precision)
        self._at = np.concatenate([[0], np.cumsum(sizes)])
        self._ids: dict[int, NDArray[np.int64]] = {}  # of the sequences met so far
        self._slopes = np.zeros(int(self._at[-1]))  # end to end
        self._levels = np.zeros(len(sizes))
        self._total = np.zeros(len(self._mean))  # [F] G
        self._bounds = problem.bounds
        self._w = self._clipped(np.array(self._mean), slice(None))  # [F]
        self._late = self._w.copy()  # average in which later steps count more
        self._steps = 0

    def run(self, order: NDArray[np.int64]) -> None:
        """Visit sequences in this order."""
        for i in order.tolist():
            self._visit(i)
        self._rebuild()

    def _visit(self, i: int) -> None:
        ids, slopes, level = self._problem.plane(i, self._w)
        self._ids[i] = ids
        own = self._slopes[self._at[i] : self._at[i + 1]]
        turn = slopes - own
        gain = level - self._levels[i] + float(turn @ self._w[ids])
        length = float(turn @ (turn * self._inverse[ids]))
        if gain > 0 and length > 0:
            share = min(1.0, gain / length)
            own += share * turn
            self._levels[i] += share * (level - self._levels[i])
            self._total[ids] += share * turn
            self._w[ids] = self._clipped(self._mean[ids] - self._total[ids] * self._inverse[ids], ids)
        elif gain > 0:  # no weight changes: the higher level is all there is to gain
            self._levels[i] = level
        self._steps += 1
        if self._wants_average:
            self._late += 2.0 / (self._steps + 1) * (self._w - self._late)

    def _clipped(self, weights: Floats, ids: Any) -> Floats:
        """Weights of these numbers within their bounds."""
        if self._bounds is None:
            return weights
        lower, upper = self._bounds
        return np.clip(weights, lower[ids], upper[ids])

    def _rebuild(self) -> None:
        """Sum and weights anew, in order: differences have rounded them."""
        self._total = np.zeros_like(self._w)
        for i in sorted(self._ids):
            self._total[self._ids[i]] += self._slopes[self._at[i] : self._at[i + 1]]
        self._w = self._clipped(self._mean - self._total * self._inverse, slice(None))

    def dual(self) -> float:
        """D."""
        apart, free = self._w - self._mean, self._inverse > 0
        penalty = float(apart[free] @ (apart[free] / self._inverse[free])) / 2
        return float(self._levels.sum() + self._total @ self._w + penalty)

    def weights(self, out: Floats) -> None:
        """Those that belong to the planes."""
        out[:] = self._w

    def average(self, out: Floats) -> None:
        """The average over all steps where it is wanted, else the same."""
        out[:] = self._late if self._wants_average and self._steps else self._w

    def state(self) -> tuple[NDArray[Any], ...]:
        """Arrays for ``restore``."""
        return self._slopes, self._levels, self._late, np.array([self._steps])

    def restore(self, slopes: Floats, levels: Floats, late: Floats, steps: NDArray[np.int64]) -> None:
        """Undo ``state``."""
        self._slopes[:], self._levels[:], self._late[:] = slopes, levels, late
        self._steps = int(steps[0])
        if self._steps:
            self._ids = {i: self._problem.plane(i, self._mean)[0] for i in range(len(levels))}
        self._rebuild()
