"""Snakes on grids: a cell's label follows from its neighbours' (real data).

    python examples/snakes.py [FOLDER]

FOLDER holds snakes/: images in which a snake of ten cells moves by the colours that it covers; the label of a
cell is its position in the snake, 0 for the background.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np

import fieldcraft as fc


def main(folder: Path) -> None:
    """Train cell by cell and as a grid on 60 images; draw a prediction."""
    data = dict(np.load(folder / "snakes" / "snakes.npz"))
    colours = {tuple(colour): k for k, colour in enumerate(np.unique(data["pixels_train"], axis=0).tolist())}

    def images(part: str, n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        ends = data[f"offsets_{part}"]
        X, y = [], []
        for (height, width), a, b in list(zip(data[f"shapes_{part}"], ends[:-1], ends[1:]))[:n]:
            codes = np.array([colours[tuple(p)] for p in data[f"pixels_{part}"][a:b].tolist()]).reshape(
                height, width
            )
            around = np.pad(codes, 1, constant_values=len(colours))
            shifts = [around[r : r + height, c : c + width] for r in range(3) for c in range(3)]
            X.append(np.concatenate([np.eye(len(colours) + 1)[shift] for shift in shifts], axis=2))
            y.append(data[f"labels_{part}"][a:b].reshape(height, width).astype(int))
        return X, y

    X, y = images("train", 60)
    X_test, y_test = images("test", 40)
    for name, directions in {"cell by cell": (), "grid": ("right", "down")}.items():
        model = fc.GridCRF(
            directions,
            ends=True,
            prior=fc.Gaussian(variance=1.0),
            inference={"method": "quick", "damping": 0.0, "tolerance": 1e-3},
            optimiser=fc.LBFGS(max_iterations=20),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # grids have cycles, and 20 iterations are few
            found = model.fit(X, y).predict(X_test)
        right = np.mean([np.mean(a[b > 0] == b[b > 0]) for a, b in zip(found, y_test)])
        print(f"{name:13} {100 * right:.0f} per cent of the cells of snakes are right")
    print("\n".join(" ".join(f"{cell:2}" if cell else " ." for cell in row) for row in found[0].tolist()))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))
