"""The limited-memory inverse Hessian, and the direction that follows from it.

The last m steps s_i = w_{i+1} - w_i and gradient changes y_i. The two-loop recursion needs only inner
products of g, s and y, so it runs on a table of them; the vectors are read twice per iteration, once
for the products with the newest pair and the gradient, once to combine them into the direction.

    d = -H g = -(sum of coefficients * (g, s_0 .. s_{m-1}, y_0 .. y_{m-1}))

Pairs are kept in 32 bits, which halves what is read; they are differences, so nothing cancels any more.
Products and directions have 64 bits, and H is exactly that of the pairs as they are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core

Floats = NDArray[np.float64]


class History:
    """The last ``memory`` pairs in slots, with their table of inner products."""

    def __init__(self, memory: int, n: int, n_jobs: int, members: NDArray[np.uint8] | None = None) -> None:
        self.s = np.empty((memory, n), np.float32)  # [m, n] steps, by slot
        self.y = np.empty((memory, n), np.float32)  # [m, n] gradient changes, by slot
        self.products = np.zeros((2 * memory, 2 * memory))  # of all s, then all y
        self.order: list[int] = []  # live slots, oldest first
        self._used = np.zeros(0)  # coefficients of the last direction
        self.n_jobs = n_jobs
        self.memory = memory
        self.members = members  # how many weights each variable stands for; None for one

    def add(self, before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> None:
        """The newest pair, from weights and gradient before and after a step; the oldest makes room."""
        free = [k for k in range(self.memory) if k not in self.order]
        slot = free[0] if free else self.order.pop(0)
        for rows, old, new in zip((self.s, self.y), before, after, strict=True):
            _core.difference(new, old, rows[slot], self.n_jobs)
        self.order.append(slot)

    def clear(self) -> None:
        """Forget everything: the next direction is steepest descent."""
        self.order = []

    def direction(
        self, gradient: Floats, out: Floats, start: Floats | None = None, trial: Floats | None = None
    ) -> float:
        """-H g into ``out``, and ``start`` + out into ``trial``; returns the slope along it, <g, out>.

        ``trial`` may be ``out``. A newest pair without positive curvature, or too large for 32 bits, is
        forgotten.
        """
        while self.order:
            slots, newest = self.order, self.order[-1]
            at = [*slots, *(self.memory + k for k in slots)]
            with_g, with_s, with_y = self._products(slots, gradient)
            if math.isfinite(np.sum(with_s) + np.sum(with_y)):
                self.products[newest, at] = self.products[at, newest] = with_s
                self.products[self.memory + newest, at] = self.products[at, self.memory + newest] = with_y
                if self.products[newest, self.memory + newest] > 1e-300:
                    g_dot = np.zeros(2 * self.memory)
                    g_dot[at] = with_g
                    c = self._two_loops(g_dot)
                    self._used = -np.concatenate([c[:1], c[1:][at]])
                    return self._combine(self._used, gradient, slots, out, start, trial)
            self.order.pop()
        np.negative(gradient, out=out)
        slope = self._dot(gradient, out)
        if start is not None and trial is not None:
            np.add(start, out, out=trial)
        return slope

    def repeat(self, gradient: Floats, out: Floats) -> None:
        """The last direction once more; neither gradient nor memory have changed since."""
        if self.order:
            self._combine(self._used, gradient, self.order, out, None, None)
        else:
            np.negative(gradient, out=out)

    def _products(self, slots: list[int], gradient: Floats) -> Any:
        """[3, 2 slots] of the gradient and of the newest s and y with the s and y of these slots."""
        return _core.history_products(self.s, self.y, slots, gradient, self.n_jobs, self.members)

    def _combine(
        self,
        used: Floats,
        gradient: Floats,
        slots: list[int],
        out: Floats,
        start: Floats | None,
        trial: Floats | None,
    ) -> float:
        """The gradient and the s and y of these slots, times ``used``, into ``out``; see ``direction``."""
        options = self.n_jobs, start, trial, self.members
        return float(_core.combine(used, gradient, self.s, self.y, slots, out, *options))

    def direction_within(
        self, gradient: Floats, free: NDArray[np.bool_], out: Floats, metric: Floats | None = None
    ) -> float:
        """-H g of the free variables alone, from the pairs cut to them; 0 elsewhere.

        ``metric`` [n] is the diagonal that H grows from, the same for all if None. Returns the size that the
        newest pair gives it (1 without pairs). Pairs are cut anew each time, since the free variables change;
        one without positive curvature there is skipped.
        """
        cut = _cutter(free)
        found = np.array(cut(gradient))
        spread = None if metric is None else cut(metric)
        used: list[tuple[Floats, Floats, float, float]] = []  # s, y, curvature, coefficient
        size = 1.0
        for k in reversed(self.order):
            s, y = cut(self.s[k]).astype(np.float64), cut(self.y[k]).astype(np.float64)
            curvature = self._dot(s, y)
            if curvature <= 1e-12 * self._dot(s, s):
                continue
            if not used:
                size = curvature / self._dot(y, y if spread is None else y * spread)
            used.append((s, y, curvature, self._dot(s, found) / curvature))
            _core.advance(found, -used[-1][3], y, found, self.n_jobs)
        found *= size if spread is None else size * spread
        for s, y, curvature, alpha in reversed(used):
            _core.advance(found, alpha - self._dot(y, found) / curvature, s, found, self.n_jobs)
        out.fill(0.0)
        out[free] = -found
        return size

    def _dot(self, x: Floats, y: Floats) -> float:
        return float(_core.dot(x, y, self.n_jobs, self.members))

    def _two_loops(self, g_dot: Floats) -> Floats:
        """Coefficients [1 + 2 memory] of H g on g, s and y."""
        m, table, newest = self.memory, self.products, self.order[-1]
        c = np.zeros(1 + 2 * m)  # of the running vector: g, s, y
        c[0] = 1.0
        alpha = {}
        for i in reversed(self.order):
            dot = c[0] * g_dot[i] + table[i] @ c[1:]
            alpha[i] = dot / table[i, m + i]
            c[1 + m + i] -= alpha[i]
        c *= table[newest, m + newest] / table[m + newest, m + newest]  # size of H along y
        for i in self.order:
            dot = c[0] * g_dot[m + i] + table[m + i] @ c[1:]
            c[1 + i] += alpha[i] - dot / table[i, m + i]
        return c

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything needed to go on bit for bit."""
        m = max(self.order, default=-1) + 1
        return {
            "history_s": self.s[:m],
            "history_y": self.y[:m],
            "history_products": self.products,
            "history_order": np.array(self.order, np.int64),
        }

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Undo ``state``."""
        self.order = [int(k) for k in state["history_order"]]
        m = len(state["history_s"])
        self.s[:m] = state["history_s"]
        self.y[:m] = state["history_y"]
        self.products[:] = state["history_products"]


def _cutter(free: NDArray[np.bool_]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """What takes the free entries of a vector; the vector itself where all are free."""
    where = np.flatnonzero(free)
    return (lambda vector: vector) if len(where) == len(free) else (lambda vector: vector.take(where))
