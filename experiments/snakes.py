"""Snakes: grids in which the cells of a snake carry the numbers 1 to 10, from head to tail.

    python -m experiments.snakes [FOLDER] [MODEL ...]

FOLDER holds snakes/snakes.npz. A cell looks at its own colour and at those of its eight neighbours, each as
one of five (four colours, or beyond the border). Colours tell the direction of the snake's next cell, so that
a cell's number follows from its neighbours' numbers: the grid model has a template for each direction, which
looks at the features of both cells. MODEL is unary or grid.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fieldcraft as fc

Floats = NDArray[np.float64]
Images = list[Floats]
MODELS = ("unary", "grid")
VARIANCE = 1.0
UNDAMPED = {"method": "quick", "damping": 0.0, "tolerance": 1e-6}  # snakes hardly attract their neighbours


def split(folder: Path, part: str) -> tuple[Images, list[NDArray[np.int64]]]:
    """Features [H, W, 45] and labels [H, W] of every grid."""
    data = np.load(folder / "snakes" / "snakes.npz")
    pixels, labels = data[f"pixels_{part}"], data[f"labels_{part}"]
    colours, number = np.unique(data["pixels_train"], axis=0), {}
    number = {tuple(colour): k for k, colour in enumerate(colours.tolist())}
    codes = np.array([number[tuple(pixel)] for pixel in pixels.tolist()])
    X, y = [], []
    for (height, width), a, b in zip(
        data[f"shapes_{part}"], data[f"offsets_{part}"][:-1], data[f"offsets_{part}"][1:]
    ):
        X.append(neighbourhood(codes[a:b].reshape(height, width), len(colours)))
        y.append(labels[a:b].reshape(height, width).astype(np.int64))
    return X, y


def neighbourhood(codes: NDArray[np.int64], n: int) -> Floats:
    """[H, W, 9 * (n + 1)] the colours of each cell and its eight neighbours; n is beyond the border."""
    height, width = codes.shape
    padded = np.pad(codes, 1, constant_values=n)
    shifts = [padded[r : r + height, c : c + width] for r in range(3) for c in range(3)]
    return np.concatenate([np.eye(n + 1)[shift] for shift in shifts], axis=2)


def built(name: str) -> fc.GridCRF:
    directions = () if name == "unary" else ("right", "down")
    return fc.GridCRF(directions, ends=True, prior=fc.Gaussian(variance=VARIANCE), inference=UNDAMPED)


def main(folder: Path, names: list[str]) -> None:
    X, y = split(folder, "train")
    X_test, y_test = split(folder, "test")
    print("| model | weights | cells right | of snakes | iterations | unconverged | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = built(name).fit(X, y)
            found = model.predict(X_test)
        seconds = time.process_time() - begun
        pairs = list(zip(found, y_test))
        right = np.concatenate([(a == b).ravel() for a, b in pairs])
        snake = np.concatenate([(b > 0).ravel() for b in y_test])
        unconverged = sum(record.unconverged or 0 for record in model.training_log_)
        print(
            f"| {name} | {len(model.weights_):,} | {100 * right.mean():.1f} "
            f"| {100 * right[snake].mean():.1f} | {model.n_iter_} | {unconverged:,} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    place = (
        given.pop(0)
        if given and given[0] not in MODELS
        else os.environ.get("FIELDCRAFT_DATA", "../shared/data")
    )
    main(Path(place), given or list(MODELS))
