"""A small quadratic programme over the simplex.

    maximise  <b, a> - a' H a / 2     subject to  a >= 0,  sum of a = 1

Solved by clarabel (an interior-point solver) where it is installed, else by an active-set method: the optimum
of the variables in play as if they had no bounds, as far towards it as all stay >= 0, then the best of the
others comes in. What either leaves is finished by steps on pairs: share moves from the worst variable that
has any to the best one, in closed form, until their slopes agree. All points are on the simplex, so that the
value is a lower bound of the maximum whatever the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

Floats = NDArray[np.float64]
MAX_STEPS = 100_000


def by_pairs(quadratic: Floats, linear: Floats, start: Floats, tolerance: float) -> Floats:
    """Pair steps from ``start`` until no pair can raise the value by more than about ``tolerance``.

    >>> by_pairs(np.eye(2), np.array([1.0, 0.0]), np.array([0.5, 0.5]), 1e-9)
    array([1., 0.])
    """
    shares: Floats = start.copy()
    slope = linear - quadratic @ shares
    for _ in range(MAX_STEPS):
        up = int(np.argmax(slope))
        low = int(np.argmin(np.where(shares > 0, slope, np.inf)))
        rise = slope[up] - slope[low]
        if rise <= tolerance:
            break
        curvature = quadratic[up, up] + quadratic[low, low] - 2 * quadratic[up, low]
        step = min(shares[low], rise / curvature) if curvature > 0 else shares[low]
        shares[up] += step
        shares[low] = 0.0 if step == shares[low] else shares[low] - step
        slope -= step * (quadratic[:, up] - quadratic[:, low])
    return shares


def by_active_set(quadratic: Floats, linear: Floats, start: Floats, tolerance: float) -> Floats:
    """The same with Newton steps for the variables in play."""
    shares: Floats = start.copy()
    ridge = 1e-12 * max(float(np.diag(quadratic).max()), 1e-300)
    for _ in range(10 * len(start)):
        slope = linear - quadratic @ shares
        if slope.max() - slope @ shares <= tolerance:
            break
        free = shares > 0
        free[np.argmax(slope)] = True
        trial = _towards(quadratic, linear, shares, np.flatnonzero(free), ridge)
        if _value(quadratic, linear, trial) <= _value(quadratic, linear, shares):
            break
        shares = trial
    return by_pairs(quadratic, linear, shares, tolerance)


def _value(quadratic: Floats, linear: Floats, shares: Floats) -> float:
    return float(linear @ shares - shares @ quadratic @ shares / 2)


def _towards(
    quadratic: Floats, linear: Floats, shares: Floats, free: NDArray[np.int64], ridge: float
) -> Floats:
    """The optimum of the free variables; those that would fall below 0 on the way stop there."""
    shares = shares.copy()
    while len(free):
        block = quadratic[np.ix_(free, free)] + ridge * np.eye(len(free))
        own, ones = np.linalg.solve(block, np.stack([linear[free], np.ones(len(free))], axis=1)).T
        step = own - (own.sum() - 1.0) / ones.sum() * ones - shares[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step < 0, -shares[free] / step, np.inf)
        shares[free] += min(1.0, room.min()) * step
        if room.min() >= 1.0:
            break
        shares[free[np.argmin(room)]] = 0.0
        free = np.delete(free, np.argmin(room))
    shares = np.maximum(shares, 0.0)
    return np.asarray(shares / shares.sum())


def by_clarabel(quadratic: Floats, linear: Floats, start: Floats, tolerance: float) -> Floats:
    """The same by clarabel; what its tolerances leave is finished by pair steps."""
    from scipy import sparse

    clarabel: Any = import_module("clarabel")
    n = len(linear)
    scale = max(float(np.abs(np.diag(quadratic)).max()), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    rows = sparse.vstack([sparse.csc_matrix(np.ones((1, n))), -sparse.eye(n)]).tocsc()
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    upper = sparse.triu(sparse.csc_matrix(quadratic / scale)).tocsc()
    ends = np.concatenate([[1.0], np.zeros(n)])
    found = clarabel.DefaultSolver(upper, -linear / scale, rows, ends, cones, settings).solve()
    shares = np.maximum(np.array(found.x), 0.0)
    if not np.isfinite(shares).all() or shares.sum() <= 0:
        shares = start
    return by_pairs(quadratic, linear, shares / shares.sum(), tolerance)


Solver = Callable[[Floats, Floats, Floats, float], Floats]
SOLVERS: dict[str, Solver] = {"active_set": by_active_set, "clarabel": by_clarabel}


def resolve_solver(name: str) -> Solver:
    """A solver by name; "auto" is clarabel where it is installed."""
    there = find_spec("clarabel") is not None
    if name == "auto":
        name = "clarabel" if there else "active_set"
    if name == "clarabel" and not there:
        raise InputError("solver='clarabel' needs the package clarabel; pip install clarabel, or take 'auto'")
    return SOLVERS[name]
