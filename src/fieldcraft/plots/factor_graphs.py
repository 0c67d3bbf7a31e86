"""A factor graph with its marginals: a pie for each variable, a square for each factor of two or more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.plots.figures import COLOURS, cut, finished, new_figure

Floats = NDArray[np.float64]
MOST = 150  # variables
ROUNDS = 300  # of the layout


def factor_graph(
    scopes: Sequence[Sequence[int]],
    marginals: Sequence[ArrayLike],
    *,
    names: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
    path: Any = None,
) -> Any:
    """Draw variables as pies of their marginal probabilities, and the factors that connect them.

    Parameters
    ----------
    scopes : the variables of each factor
    marginals : of each variable, a vector
    names : of the variables; None for their numbers
    states : names of the states, for the legend; None for their numbers
    positions : [n, 2] of the variables; None for a layout by springs
    path : file or stream to write to; None for none
    """
    shares = [np.asarray(vector, np.float64) for vector in marginals]
    n = len(shares)
    if n > MOST:
        raise InputError(f"{n:,} variables; a picture has room for {MOST}; FactorGraph.draw shows more")
    factors = [list(scope) for scope in scopes if len(scope) > 1]
    if any(not 0 <= v < n for scope in factors for v in scope):
        raise InputError(f"a factor names a variable that is not one of the {n}; number them from 0")
    at = _layout(n, factors) if positions is None else np.asarray(positions, np.float64)
    if at.shape != (n, 2):
        raise InputError(f"positions of shape {at.shape}; expected ({n}, 2)")
    figure = new_figure((6.4, 5.6))
    axes = figure.add_subplot()
    for scope in factors:
        centre = at[scope].mean(axis=0)
        for v in scope:
            axes.plot(*zip(centre, at[v]), color="0.6", linewidth=1, zorder=1)
        axes.scatter(*centre, marker="s", s=22, color="0.3", zorder=2)
    radius = 0.25 * _nearest(at)
    _pies(axes, at, shares, radius, [str(i) for i in range(n)] if names is None else names)
    _legend(axes, max((len(share) for share in shares), default=0), states)
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.set_axis_off()
    return finished(figure, path)


def _pies(axes: Any, at: Floats, shares: Sequence[Floats], radius: float, names: Sequence[str]) -> None:
    from matplotlib.patches import Circle, Wedge

    for place, share, name in zip(at, shares, names):
        axes.add_patch(Circle(place, 1.06 * radius, color="0.15", zorder=3))
        turns = 90 - 360 * np.concatenate([[0], np.cumsum(share / max(share.sum(), 1e-300))])
        for k, (begin, end) in enumerate(zip(turns, turns[1:])):
            if begin - end > 1e-6:
                axes.add_patch(
                    Wedge(place, radius, end, begin, color=COLOURS[k % len(COLOURS)], linewidth=0, zorder=4)
                )
        axes.annotate(
            cut(name, 12),
            place,
            ha="center",
            va="center",
            fontsize=9,
            zorder=5,
            bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.update_datalim(np.concatenate([at - radius, at + radius]))
    axes.autoscale_view()


def _legend(axes: Any, n_states: int, states: Sequence[str] | None) -> None:
    from matplotlib.patches import Patch

    shown = [f"state {k}" for k in range(n_states)] if states is None else [cut(s, 20) for s in states]
    handles = [
        Patch(color=COLOURS[k % len(COLOURS)], label=name) for k, name in enumerate(shown[: len(COLOURS)])
    ]
    if handles:
        axes.legend(handles=handles, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _nearest(at: Floats) -> float:
    """The least distance between two variables."""
    if len(at) < 2:
        return 1.0
    apart = np.sqrt(((at[:, None] - at[None]) ** 2).sum(axis=-1))
    return float(apart[~np.eye(len(at), dtype=bool)].min())


def _layout(n: int, factors: Sequence[Sequence[int]]) -> Floats:
    """[n, 2] so that distances in the picture are like those along factors (classical scaling)."""
    from scipy.sparse.csgraph import shortest_path

    near = np.zeros((n, n))
    for scope in factors:
        near[np.ix_(scope, scope)] = 1.0
    steps = shortest_path(near, unweighted=True)
    connected = steps[np.isfinite(steps)]
    steps[~np.isfinite(steps)] = 1.5 + float(connected.max(initial=0.0))
    middle = np.eye(n) - 1.0 / max(1, n)
    values, vectors = np.linalg.eigh(-0.5 * middle @ steps**2 @ middle)
    at: Floats = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 1e-9))  # the two largest
    at = np.concatenate([at, np.zeros((n, 2))], axis=1)[:, :2]
    return _relaxed(at, steps)


def _relaxed(at: Floats, steps: Floats) -> Floats:
    """Less stress: the sum of (distance / steps - 1) ** 2 over pairs, by small moves along its gradient."""
    n = len(at)
    at = at + 1e-3 * np.stack([np.cos(np.arange(n)), np.sin(np.arange(n))], axis=1)  # no two in one place
    goal = np.where(steps > 0, steps, 1.0)
    for move in np.linspace(0.5, 0.05, ROUNDS):
        apart = at[:, None] - at[None]
        length = np.sqrt((apart**2).sum(axis=-1)) + 1e-9
        pull = ((goal - length) / length / goal**2)[..., None] * apart
        weight = (1 / goal**2).sum(axis=1, keepdims=True)
        at = at + move * pull.sum(axis=1) / weight
    return at
