"""Score against seconds: a line per entry, its end marked, its name beside it.

Names are in a column to the right of the lines, moved apart if ends are close, each connected with its end by
a thin line, so that twenty entries can be distinguished without a legend. The axis of the score shows the
upper part, where good entries differ; an entry that ends far below is shown at the lower edge.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.replacing import replacing

if TYPE_CHECKING:
    from fieldcraft.tuning.results import BakeOff, Result

Floats = NDArray[np.float64]
LINE = 0.032  # height of a name, as a part of the axis
DASHES = ("-", "--", ":")  # of the first ten lines, the next ten, and those after them


def check_plots() -> None:
    """Raise an InputError without matplotlib."""
    if find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib; install it: pip install 'fieldcraft[plot]'")


def new_figure(size: tuple[float, float]) -> tuple[Any, Any]:
    """A canvas and its empty figure, in inches; without a window or global state."""
    check_plots()
    backend, figures = import_module("matplotlib.backends.backend_agg"), import_module("matplotlib.figure")
    figure = figures.Figure(figsize=size, layout="constrained")
    return backend.FigureCanvasAgg(figure), figure


def plain_axes(axes: Any) -> None:
    """Faint grid lines, no frame at the top and right."""
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save_figure(canvas: Any, path: Any) -> None:
    """Write a figure to a stream or, whole or not at all, to a file of the format that its suffix names."""
    if not isinstance(path, (str, os.PathLike)):
        canvas.print_figure(path, dpi=150)
        return
    name, format = os.fspath(path), os.path.splitext(path)[1][1:].lower()
    if not format:
        name, format = f"{name.rstrip('.')}.png", "png"
    with replacing(name) as file:
        canvas.print_figure(file, format=format, dpi=150)


def draw(found: BakeOff, path: Any) -> None:
    """Draw all entries that have points into a file."""
    rows = [row for row in found.results if row.points]
    canvas, figure = new_figure((10, 6.5))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlabel("seconds of training (without encoding and scoring)")
    axes.set_ylabel(f"{found.metric} on held-out data, per cent")
    axes.set_title(f"{found.sequences:,} sequences, {found.tokens:,} tokens")
    plain_axes(axes)
    if rows:
        _lines(axes, rows)
    save_figure(canvas, path)


def _lines(axes: Any, rows: list[Result]) -> None:
    colours = import_module("matplotlib").colormaps["tab10"]
    ends = np.array([100 * float(row.score or 0) for row in rows])
    low, high = _limits(ends)
    axes.set_ylim(low, high)
    shown = np.maximum(ends, low)
    places = low + (high - low) * _apart((shown - low) / (high - low), LINE)
    for i, row in enumerate(rows):
        colour, dashes = colours(i % 10), DASHES[i // 10 % len(DASHES)]
        seconds = [point.seconds for point in row.points]
        axes.plot(
            seconds, [100 * (point.score or 0.0) for point in row.points], dashes, color=colour, linewidth=1.3
        )
        axes.plot(seconds[-1:], shown[i : i + 1], "o", color=colour, markersize=5, clip_on=False)
        axes.annotate(
            f"{row.entry} {ends[i]:.2f}",
            xy=(seconds[-1], shown[i]),
            xytext=(1.04, places[i]),
            textcoords=axes.get_yaxis_transform(),
            color=colour,
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "relpos": (0, 0.5)},
        )


def _limits(ends: Floats) -> tuple[float, float]:
    """From a little below the typical entries to a little above the best."""
    best = float(ends.max())
    usual = max(0.5, 3 * (best - float(np.median(ends))))
    low = max(float(ends.min()), best - usual)
    room = max(0.2, 0.3 * (best - low))
    return low - room, best + 0.3 * room


def _apart(wanted: Floats, least: float) -> Floats:
    """Positions in 0..1 close to ``wanted``, with a distance of at least ``least`` between neighbours."""
    order = np.argsort(-wanted, kind="stable")  # from above
    least = min(least, 1.0 / max(1, len(wanted) - 1))
    places: Floats = wanted[order].copy()
    for above, below in pairwise(range(len(places))):
        places[below] = min(places[below], places[above] - least)
    places[-1:] = np.maximum(places[-1:], 0.0)  # and upwards again from the lower edge
    for below, above in pairwise(reversed(range(len(places)))):
        places[above] = max(places[above], places[below] + least)
    out: Floats = np.empty_like(places)
    out[order] = places
    return out
