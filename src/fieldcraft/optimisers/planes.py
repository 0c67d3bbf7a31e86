"""Planes below a convex loss, and the weights that are best under them.

    R(w) >= <g_k, w> + b_k,    b_k = R(w_k) - <g_k, w_k>      g_k a sub-gradient at w_k; and R(w) >= 0

The minimum of (Gaussian penalty + the largest bound) is a quadratic programme over the planes' shares a_k,

    w = mean - (sum of a_k g_k) / precision,      D(a) = <a, b + G mean> - |sum of a_k g_k|^2 / 2

with the norm in the metric 1 / precision. Sub-gradients are kept sparse: late ones touch few weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Planes:
    """Lower bounds of the loss: sub-gradients kept sparse, with their inner products."""

    def __init__(self, inverse: Floats, mean: Floats) -> None:
        self.inverse, self.mean = inverse, mean
        self.ids: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]  # the first one is R >= 0
        self.slopes: list[Floats] = [np.zeros(0)]
        self.products = np.zeros((1, 1))  # [K, K]
        self.level = np.zeros(1)  # [K] b + <g, mean>
        self.shares = np.ones(1)  # [K]
        self.idle = np.zeros(1)  # [K] iterations without a share

    def add(self, gradient: Floats, loss: float, weights: Floats) -> None:
        """The bound that touches the loss at ``weights``."""
        ids = np.flatnonzero(gradient)
        slopes = gradient[ids]
        spread = gradient * self.inverse
        new = [float(spread[i] @ g) for i, g in zip(self.ids, self.slopes)]
        k = len(self.shares)
        products = np.empty((k + 1, k + 1))
        products[:k, :k] = self.products
        products[k, :k] = products[:k, k] = new
        products[k, k] = slopes @ spread[ids]
        self.products = products
        self.ids.append(ids)
        self.slopes.append(slopes)
        self.level = np.append(self.level, loss - slopes @ (weights[ids] - self.mean[ids]))
        self.shares, self.idle = np.append(self.shares, 0.0), np.append(self.idle, 0.0)

    def solve(self, solver: Any, tolerance: float) -> None:
        """The best shares."""
        self.shares = solver(self.products, self.level, self.shares, tolerance)
        self.idle = np.where(self.shares > 0, 0.0, self.idle + 1)

    def dual(self) -> float:
        """D at the shares."""
        return float(self.level @ self.shares - self.shares @ self.products @ self.shares / 2)

    def weights(self, out: Floats) -> None:
        """The weights that belong to the shares."""
        out[:] = 0.0
        for share, ids, slopes in zip(self.shares, self.ids, self.slopes):
            if share > 0:
                out[ids] += share * slopes
        out *= -self.inverse
        out += self.mean

    def forget(self, patience: int) -> None:
        """Let planes go that had no share for so long; the first one stays."""
        kept = np.flatnonzero((self.idle <= patience) | (np.arange(len(self.idle)) == 0))
        self.ids, self.slopes = [self.ids[k] for k in kept], [self.slopes[k] for k in kept]
        self.products = self.products[np.ix_(kept, kept)]
        self.level, self.shares, self.idle = self.level[kept], self.shares[kept], self.idle[kept]

    def state(self) -> tuple[NDArray[np.generic], ...]:
        """Arrays for ``restore``."""
        sizes = np.array([len(ids) for ids in self.ids], np.int64)
        table = np.stack([self.level, self.shares, self.idle])
        return sizes, np.concatenate(self.ids), np.concatenate(self.slopes), self.products, table

    def restore(
        self,
        sizes: NDArray[np.int64],
        ids: NDArray[np.int64],
        slopes: Floats,
        products: Floats,
        table: Floats,
    ) -> None:
        """Undo ``state``."""
        cuts = np.cumsum(sizes)[:-1]
        self.ids, self.slopes = np.split(ids, cuts), np.split(slopes, cuts)
        self.products = products.copy()
        self.level, self.shares, self.idle = table.copy()
