"""Images as graphs: a variable for every cell, a factor for every pair of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

Floats = NDArray[np.float64]
DIRECTIONS = {"right": (0, 1), "down": (1, 0), "down_right": (1, 1), "down_left": (1, -1)}  # rows, columns


def images_of(X: Any, width: int | None = None) -> list[Floats]:
    """Images [H, W, A]; all of them have ``width`` features, or as many as the first."""
    if isinstance(X, np.ndarray) and X.ndim < 3 and X.dtype != object:
        raise InputError(f"X is one array of shape {X.shape}; give a list of images")
    out: list[Floats] = []
    for i, given in enumerate(X):
        image = np.asarray(given, np.float64)
        image = image[:, :, None] if image.ndim == 2 else image
        if image.ndim != 3:
            raise InputError(f"image {i} has shape {image.shape}; give [H, W, features] or [H, W]")
        wanted = width if width is not None else (out[0].shape[2] if out else image.shape[2])
        if image.shape[2] != wanted:
            raise InputError(f"image {i} has {image.shape[2]} features for each cell, the others {wanted}")
        if not np.isfinite(image).all():
            raise InputError(f"image {i} has a feature that is nan or infinite")
        out.append(image)
    return out


def labels_of(y: Any) -> list[NDArray[np.int64]]:
    """Labels [H, W] as whole numbers."""
    if y is None:
        raise InputError("y is missing; give the labels [H, W] of every image")
    out = []
    for i, given in enumerate(y):
        labels = np.asarray(given)
        if labels.ndim != 2 or labels.dtype.kind not in "iub":
            raise InputError(
                f"labels of image {i} have shape {labels.shape} and type {labels.dtype}; "
                "give whole numbers [H, W], -1 where unknown"
            )
        out.append(labels.astype(np.int64))
    return out


def named_cells(i: int, labels: NDArray[np.int64], shape: tuple[int, ...], names: list[str]) -> Any:
    """[cells] the names of an image's labels, None where unknown."""
    if labels.shape != shape:
        raise InputError(
            f"image {i} is {shape[0]} x {shape[1]}, its labels {labels.shape[0]} x {labels.shape[1]}"
        )
    distinct, at = np.unique(labels, return_inverse=True)
    texts = np.array([*(None if number == -1 else str(number) for number in distinct), None], object)
    wrong = [text for text in texts if text is not None and text not in names]
    if wrong:
        row, column = np.argwhere(labels == int(wrong[0]))[0]
        raise InputError(
            f"image {i}, row {row}, column {column}: label {wrong[0]} is none of {', '.join(names)}"
        )
    return texts[at.ravel()]


def cliques_of(image: Floats, directions: Sequence[str], *, ends: bool, isotropic: bool) -> dict[str, Any]:
    """The factors of an image: its cells, and the pairs of each direction."""
    height, width, _ = image.shape
    at = np.arange(height * width).reshape(height, width)
    cells = np.concatenate([image, np.ones((height, width, 1))], axis=2).reshape(height * width, -1)
    pairs = {name: pairs_of(at, *DIRECTIONS[name]) for name in directions}
    if isotropic and pairs:
        pairs = {"neighbour": np.concatenate(list(pairs.values()))}
    cliques: dict[str, Any] = {"cell": (at.ravel(), cells)}
    for name, scope in pairs.items():
        rows = np.concatenate([cells[scope[:, 0], :-1], cells[scope[:, 1]]], axis=1) if ends else None
        cliques[name] = (scope, rows)
    return cliques


def pairs_of(at: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """[P, 2] the cells and their neighbours so many rows below and columns to the right.

    >>> pairs_of(np.arange(6).reshape(2, 3), 1, -1).tolist()
    [[1, 3], [2, 4]]
    """
    height, width = at.shape
    first = at[: max(0, height - down), max(0, -right) : width - max(0, right)]
    second = at[down:, max(0, right) : width + min(0, right)]
    return np.stack([first.ravel(), second.ravel()], 1)
