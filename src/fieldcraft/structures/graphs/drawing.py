"""Pictures of factor graphs: variables are circles, factors of two or more variables squares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.replacing import replacing

if TYPE_CHECKING:
    from fieldcraft.structures.graph import FactorGraph

FORMATS = (".png", ".svg")
MOST = 2000  # variables in a picture
ROUNDS = 200  # of the layout


def draw(graph: FactorGraph, path: Path, positions: ArrayLike | None, answer: Any) -> None:
    """Write a picture; colours show the marginal of the last state, or the assignment."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: pictures are PNG or SVG files; end the name with .png or .svg")
    if graph.n_variables > MOST:
        raise InputError(f"the graph has {graph.n_variables:,} variables; at most {MOST:,} can be drawn")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("drawing needs matplotlib: pip install matplotlib") from None
    at = _places(graph, positions)  # [n, 2]
    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.add_subplot()
    for scope in _scopes(graph):
        centre = at[scope].mean(axis=0)
        for v in scope:
            axes.plot(*zip(centre, at[v]), color="0.7", linewidth=1, zorder=1)
        axes.scatter(centre[0], centre[1], marker="s", s=14, color="0.35", zorder=2)
    size = float(np.clip(9000 / max(1, graph.n_variables), 20, 500))
    dots = axes.scatter(
        at[:, 0], at[:, 1], s=size, c=_shades(graph, answer), cmap="viridis", edgecolors="0.2", zorder=3
    )
    if answer is not None:
        figure.colorbar(dots, ax=axes, shrink=0.6, label=_legend(answer))
    if graph.n_variables <= 60:
        for v, place in enumerate(at):
            axes.annotate(str(v), place, ha="center", va="center", fontsize=7, color="white", zorder=4)
    axes.set_aspect("equal")
    axes.set_axis_off()
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=120)


def _scopes(graph: FactorGraph) -> list[NDArray[np.int32]]:
    return [scope for group in graph.groups if group.scope.shape[1] > 1 for scope in group.scope]


def _legend(answer: Any) -> str:
    return "state" if hasattr(answer, "assignment") else "probability of the last state"


def _shades(graph: FactorGraph, answer: Any) -> NDArray[np.float64]:
    if answer is None:
        return np.where(graph.observed >= 0, 1.0, 0.3)
    if hasattr(answer, "assignment"):
        return np.asarray(answer.assignment, np.float64)
    return np.array([vector[-1] for vector in answer.variables])


def _places(graph: FactorGraph, positions: ArrayLike | None) -> NDArray[np.float64]:
    """The given places, or those of springs along the factors and repulsion elsewhere."""
    n = graph.n_variables
    if positions is not None:
        given = np.asarray(positions, np.float64)
        if given.shape != (n, 2):
            raise InputError(f"positions have shape {given.shape}; expected ({n}, 2)")
        return given
    angle = 2 * np.pi * np.arange(n) / max(1, n)
    at = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    pairs = [(a, b) for scope in _scopes(graph) for i, a in enumerate(scope) for b in scope[:i]]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    for step in np.linspace(0.1, 0.005, ROUNDS if n <= 400 else 0):
        apart = at[:, None] - at[None]
        squared = (apart**2).sum(axis=-1) + 1e-3
        force = (apart / squared[..., None]).sum(axis=1) / n
        along = at[ends[:, 1]] - at[ends[:, 0]]
        np.add.at(force, ends[:, 0], along * np.sqrt(n) / 4)
        np.add.at(force, ends[:, 1], -along * np.sqrt(n) / 4)
        length = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-9
        at = at + force / length * np.minimum(length, step)
    return at
