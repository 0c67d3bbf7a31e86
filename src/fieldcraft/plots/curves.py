"""Curves: objective and held-out score as training goes on; score and active weights along a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.plots.figures import COLOURS, cut, finished, line_style, new_figure, plain_axes

MOST_NAMES = 12  # lines that a legend names


def learning_curves(
    objective: Sequence[float],
    held_out: Sequence[float | None] | None = None,
    seconds: Sequence[float] | None = None,
    *,
    iterations: Sequence[int] | None = None,
    metric: str = "score",
    path: Any = None,
) -> Any:
    """Draw the objective, and the held-out score below it, by iteration and by time.

    Parameters
    ----------
    objective : its value after each iteration
    held_out : the score on held-out data, between 0 and 1; None after iterations that were not scored
    seconds : since the start, after each iteration; None leaves out the curves by time
    iterations : their numbers; None counts from 1
    metric : name of the score
    path : file or stream to write to; None for none
    """
    values = np.asarray(objective, np.float64)
    scores = np.array([np.nan if s is None else 100 * s for s in held_out or [None] * len(values)], float)
    numbers = np.arange(1, len(values) + 1) if iterations is None else np.asarray(iterations, np.float64)
    across = [("iteration", numbers)] + ([] if seconds is None else [("seconds", np.asarray(seconds, float))])
    for name, column in (("held_out", scores), *across):
        if len(column) != len(values):
            raise InputError(f"{name} has {len(column)} numbers for {len(values)} iterations; pass as many")
    down = 2 if np.isfinite(scores).any() else 1
    figure = new_figure((4.2 * len(across) + 0.6, 2.5 * down + 0.6))
    panels = figure.subplots(down, len(across), squeeze=False, sharex="col", sharey="row")
    for column, (name, x) in enumerate(across):
        _curve(panels[0, column], x, values, COLOURS[0])
        if down == 2:
            known = np.isfinite(scores)
            _curve(panels[1, column], x[known], scores[known], COLOURS[1])
        panels[-1, column].set_xlabel(name)
    panels[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    panels[0, 0].set_ylabel("objective")
    if down == 2:
        panels[1, 0].set_ylabel(f"{metric} on held-out\ndata, per cent")
    return finished(figure, path)


def _curve(axes: Any, x: Any, y: Any, colour: str) -> None:
    plain_axes(axes)
    axes.plot(x, y, color=colour, linewidth=1.6, marker="o" if len(x) <= 40 else None, markersize=3.5)


class TuningLine(NamedTuple):
    """A line of a tuning curve: numbers of the setting, scores between 0 and 1, active weights."""

    setting: Sequence[float]
    scores: Sequence[float]
    active: Sequence[int]


def tuning_curve(
    lines: Mapping[str, TuningLine],
    *,
    axis: str,
    metric: str = "score",
    logarithmic: bool = False,
    title: str = "",
    path: Any = None,
) -> Any:
    """Draw held-out score, and the number of weights that are not zero below it, against a setting.

    Parameters
    ----------
    lines : name -> numbers of the setting with scores and active weights
    axis : name of the setting
    metric : name of the score
    logarithmic : scale of the setting
    title : above the picture
    path : file or stream to write to; None for none
    """
    figure = new_figure((7.5, 6))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    points = []
    for axes in (above, below):
        plain_axes(axes)
    for i, (name, line) in enumerate(lines.items()):
        style = {**line_style(i), "marker": "o", "markersize": 4, "linewidth": 1.5}
        above.plot(line.setting, [100 * score for score in line.scores], label=cut(name, 40), **style)
        below.plot(line.setting, line.active, **style)
        points += list(zip(line.scores, line.setting))
    if points:
        score, at = max(points, key=lambda point: point[0])
        above.plot([at], [100 * score], "o", markersize=11, fillstyle="none", color="black")
    if logarithmic:
        below.set_xscale("log")
    if 1 < len(lines) <= MOST_NAMES:
        above.legend(fontsize=8.5)
    above.set_title(title, fontsize=11)
    above.set_ylabel(f"{metric} on held-out\ndata, per cent")
    below.set_ylabel("weights that\nare not zero")
    below.set_ylim(bottom=0)
    below.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    below.set_xlabel(axis)
    return finished(figure, path)
