"""Matrices of labels: confusion (gold against predicted) and transitions (label before against label)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.plots.figures import cut, finished, new_figure

Floats = NDArray[np.float64]
MOST_NUMBERS = 24  # names up to which cells show their numbers
CELL = 0.42  # inches
LONGEST = 20  # characters of a name


def confusion(matrix: ArrayLike, names: Sequence[str], *, unit: str = "tokens", path: Any = None) -> Any:
    """Draw how often each gold label (rows) was predicted as which (columns).

    Colours are fractions of a row, so that rare labels are as visible as frequent ones; numbers are counts.

    Parameters
    ----------
    matrix : [Y, Y] counts, gold x predicted, as ``metrics.confusion`` counts them
    names : [Y] of the labels
    unit : what was counted
    path : file or stream to write to; None for none
    """
    counts = _square(matrix, names)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    figure, axes = _matrix_axes(names, "predicted", "gold")
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, label=f"fraction of the {unit} of a row", shrink=0.8)
    _numbers(axes, shares, [[f"{n:,.0f}" if n else "" for n in row] for row in counts.tolist()], image)
    return finished(figure, path)


def transitions(matrix: ArrayLike, names: Sequence[str], *, path: Any = None) -> Any:
    """Draw the weight of each pair of labels: the label before (rows) and the label (columns).

    Parameters
    ----------
    matrix : [Y, Y] weights, ``crf.inspect().transitions``; nan where a pair has none
    names : [Y] of the labels
    path : file or stream to write to; None for none
    """
    weights = _square(matrix, names)
    finite = weights[np.isfinite(weights)]
    largest = float(np.abs(finite).max(initial=0.0)) or 1.0
    figure, axes = _matrix_axes(names, "label", "label before")
    axes.set_facecolor("0.85")
    image = axes.imshow(np.clip(weights, -largest, largest), cmap="RdBu", vmin=-largest, vmax=largest)
    figure.colorbar(image, ax=axes, label="weight (grey: none)", shrink=0.8)
    texts = [["" if np.isnan(w) else f"{w:+.1f}" for w in row] for row in weights.tolist()]
    _numbers(axes, np.clip(weights, -largest, largest), texts, image)
    return finished(figure, path)


def _square(matrix: ArrayLike, names: Sequence[str]) -> Floats:
    array = np.asarray(matrix, np.float64)
    if array.shape != (len(names), len(names)):
        raise InputError(
            f"a matrix of shape {array.shape} for {len(names)} names; one row and column for each"
        )
    return array


def _matrix_axes(names: Sequence[str], across: str, down: str) -> tuple[Any, Any]:
    shown = [cut(name, LONGEST) for name in names]
    room = 0.09 * max(map(len, shown), default=0)
    size = CELL * len(shown) if len(shown) <= MOST_NUMBERS else max(10.0, 0.16 * len(shown))
    figure = new_figure((max(3.4, size) + room + 1.6, max(2.6, size) + room + 0.8))
    axes = figure.add_subplot()
    small = 9 if len(shown) <= MOST_NUMBERS else 8
    axes.set_xticks(range(len(shown)), shown, rotation=90 if max(map(len, shown), default=0) > 3 else 0)
    axes.set_yticks(range(len(shown)), shown)
    axes.tick_params(labelsize=small, length=0)
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure, axes


def _numbers(axes: Any, values: Floats, texts: Sequence[Sequence[str]], image: Any) -> None:
    """Numbers in the cells, dark on light colours and light on dark ones."""
    if len(texts) > MOST_NUMBERS:
        return
    colours = import_module("matplotlib").colormaps[image.cmap.name](image.norm(values))
    bright = colours[..., :3] @ [0.299, 0.587, 0.114]
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            dark = np.isnan(values[i, j]) or bright[i, j] > 0.55
            size = 8 if len(text) <= 5 else 6.5
            axes.text(j, i, text, ha="center", va="center", fontsize=size, color="black" if dark else "white")
