"""Score against seconds: a line per contestant, its end marked, its name beside it.

Names are in a column to the right of the lines, moved apart if ends are close, each connected with its end by
a thin line, so that twenty of them can be distinguished without a legend. The axis of the score shows the
upper part, where good ones differ; one that ends far below is shown at the lower edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.plots.figures import cut, finished, line_style, new_figure, plain_axes

Floats = NDArray[np.float64]
LINE = 0.036  # height of a name, as a part of the axis
GAP = 0.05  # between the axes and the names, as a part of the axes
Curve = tuple[Sequence[float], Sequence[float]]


def score_by_seconds(
    curves: Mapping[str, Curve], *, metric: str = "score", title: str = "", path: Any = None
) -> Any:
    """Draw held-out scores against seconds of training.

    Parameters
    ----------
    curves : name -> (seconds, scores between 0 and 1), both of one length
    metric : name of the score
    title : above the picture
    path : file or stream to write to; None for none
    """
    kept = {name: curve for name, curve in curves.items() if len(curve[0])}
    figure = new_figure((9, 5.5))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlabel("seconds of training (without encoding and scoring)")
    axes.set_ylabel(f"{metric} on held-out data, per cent")
    axes.set_title(title, fontsize=11)
    plain_axes(axes)
    if kept:
        _lines(axes, kept)
        _make_room(figure, axes)
    return finished(figure, path)


def _lines(axes: Any, curves: Mapping[str, Curve]) -> None:
    ends = np.array([100 * float(scores[-1]) for _, scores in curves.values()])
    low, high = _limits(ends)
    axes.set_ylim(low, high)
    shown = np.maximum(ends, low)
    places = low + (high - low) * _apart((shown - low) / (high - low), LINE)
    for i, (name, (seconds, scores)) in enumerate(curves.items()):
        style = line_style(i)
        axes.plot(seconds, 100 * np.asarray(scores, np.float64), linewidth=1.5, **style)
        axes.plot(seconds[-1:], shown[i : i + 1], "o", color=style["color"], markersize=5, clip_on=False)
        axes.annotate(
            f"{cut(name, 36)} {ends[i]:.2f}",
            xy=(seconds[-1], shown[i]),
            xytext=(1 + GAP, places[i]),
            textcoords=axes.get_yaxis_transform(),
            color=style["color"],
            fontsize=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": style["color"], "linewidth": 0.5, "relpos": (0, 0.5)},
        ).set_in_layout(False)


def _make_room(figure: Any, axes: Any) -> None:
    """Leave as much of the figure to the right of the axes as the longest name needs."""
    renderer = figure.canvas.get_renderer()
    extent = import_module("matplotlib.text").Text.get_window_extent  # of the words, without their lines
    widest = max(extent(text, renderer).width for text in axes.texts)
    names = widest / figure.bbox.width + 0.02
    figure.get_layout_engine().set(rect=(0, 0, max(0.4, (1 - names) / (1 + GAP)), 1))


def _limits(ends: Floats) -> tuple[float, float]:
    """From a little below the typical ones to a little above the best."""
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
