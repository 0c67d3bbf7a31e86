"""A segmentation: words in a row, segments as coloured bars, the probability of a border between words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldcraft.errors import InputError
from fieldcraft.plots.figures import COLOURS, cut, finished, new_figure, plain_axes

OUTSIDE = "O"
MOST_WORDS = 60
WORD = 0.9  # inches


def segmentation(
    words: Sequence[str],
    spans: Sequence[Any],
    borders: ArrayLike | None = None,
    *,
    path: Any = None,
) -> Any:
    """Draw the segments of a sequence.

    Parameters
    ----------
    words : of the sequence
    spans : its segments, alone or with a probability each, as ``predict_spans`` returns
    borders : [T + 1] probability that a segment begins before each word, ``boundary_probability``; or None
    path : file or stream to write to; None for none
    """
    n = len(words)
    if n > MOST_WORDS:
        raise InputError(f"{n} words; a picture has room for {MOST_WORDS}: draw a part of them")
    pairs = [(span, None) if len(span) == 3 else span for span in spans]
    chances = None if borders is None else np.asarray(borders, np.float64)
    if chances is not None and chances.shape != (n + 1,):
        raise InputError(f"borders of shape {chances.shape} for {n} words; expected ({n + 1},)")
    down = 1 if chances is None else 2
    figure = new_figure((float(np.clip(WORD * n, 5, 24)), 1.9 if down == 1 else 3.2))
    panels = figure.subplots(down, 1, squeeze=False, sharex=True, height_ratios=(1,) if down == 1 else (1, 1))
    axes = panels[0, 0]
    _bars(axes, pairs, n)
    if chances is not None:
        plain_axes(panels[1, 0])
        panels[1, 0].bar(np.arange(n + 1) - 0.5, chances, width=0.12, color="0.25")
        panels[1, 0].set_ylim(0, 1.05)
        panels[1, 0].set_ylabel("probability\nof a border")
    axes = panels[-1, 0]
    axes.set_xticks(range(n), [cut(word, 16) for word in words], rotation=35 if n > 6 else 0, fontsize=9)
    if n > 6:
        for tick in axes.get_xticklabels():
            tick.set_ha("right")
            tick.set_rotation_mode("anchor")
    axes.set_xlim(-0.6, n - 0.4)
    return finished(figure, path)


def _bars(axes: Any, pairs: Sequence[Any], n: int) -> None:
    names: dict[str, int] = {}
    for span, probability in pairs:
        start, end, label = span
        if not 0 <= start < end <= n:
            raise InputError(f"a span from {start} to {end} does not fit {n} words")
        number = names.setdefault(label, len(names)) if label != OUTSIDE else None
        colour = "0.8" if number is None else COLOURS[number % 6]
        axes.barh(0, end - start - 0.1, left=start - 0.45, height=0.6, color=colour, alpha=0.35)
        axes.barh(0, end - start - 0.1, left=start - 0.45, height=0.6, fill=False, edgecolor=colour)
        name = cut(label, 13 * (end - start))
        size = float(
            np.clip(78 * (end - start) / max(1, len(name)), 6.5, 9.0)
        )  # so that it fits into the bar
        text = name + ("" if probability is None else f"\n{probability:.2f}")
        axes.text((start + end - 1) / 2, 0, text, ha="center", va="center", fontsize=size)
    axes.set_ylim(-0.45, 0.45)
    axes.set_yticks([])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
