"""Weights by template: which templates a model relies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.plots.figures import COLOURS, cut, finished, new_figure, plain_axes

MOST = 40  # templates, those with the largest sums


def template_weights(
    names: Sequence[str],
    total: Sequence[float],
    active: Sequence[int],
    *,
    path: Any = None,
) -> Any:
    """Draw the sum of |weight| of each template, and how many of its weights are not zero.

    Parameters
    ----------
    names : of the templates
    total : sum of |weight| of each
    active : weights of each that are not zero
    path : file or stream to write to; None for none
    """
    if not len(names) == len(total) == len(active):
        raise InputError(
            f"{len(names)} names, {len(total)} sums and {len(active)} counts; pass as many of each"
        )
    rows = sorted(zip(total, names, active), key=lambda row: -row[0])[:MOST]
    figure = new_figure((8, 0.24 * len(rows) + 1.2))
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, values, label, colour in (
        (left, [row[0] for row in rows], "sum of |weight|", COLOURS[0]),
        (right, [row[2] for row in rows], "weights that are not zero", COLOURS[1]),
    ):
        plain_axes(axes)
        axes.grid(visible=False, axis="y")
        bars = axes.barh(range(len(rows)), values, color=colour, height=0.7)
        axes.bar_label(bars, [f"{value:,.0f}" for value in values], fontsize=8, padding=2)
        axes.margins(x=0.18)
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_major_locator(_few())
    left.set_yticks(range(len(rows)), [cut(name, 34) for _, name, _ in rows], fontsize=8.5)
    left.set_ylim(len(rows) - 0.4, -0.6)
    return finished(figure, path)


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)
