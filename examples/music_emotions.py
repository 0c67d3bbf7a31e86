"""Several labels for a piece of music (emotions, real data).

    python examples/music_emotions.py [FOLDER]

FOLDER holds multilabel/. A weight for every pair of emotions against a classifier for each of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import fieldcraft as fc

EMOTIONS = ["amazed", "happy", "relaxed", "quiet", "sad", "angry"]


def rows(path: Path) -> np.ndarray:
    """The numbers of an ARFF file."""
    lines = path.read_text().split("@data", 1)[1].splitlines()
    return np.array([[float(cell) for cell in line.split(",")] for line in lines if line])


def main(folder: Path) -> None:
    """Train both on 391 pieces and count pieces with all emotions right."""
    train, test = (rows(folder / "multilabel" / f"emotions-{part}.arff") for part in ("train", "test"))
    mean, spread = train[:, :-6].mean(axis=0), train[:, :-6].std(axis=0)
    X, Y = (train[:, :-6] - mean) / spread, train[:, -6:].astype(int)
    X_test, Y_test = (test[:, :-6] - mean) / spread, test[:, -6:].astype(int)
    for pairs in ("none", "all"):
        model = fc.MultiLabelCRF(pairs, prior=fc.Gaussian(variance=0.03)).fit(X, Y)
        exact = 100 * model.score(X_test, Y_test)
        print(f"pairs={pairs:5} {exact:.1f} per cent of {len(X_test)} pieces all right")
    sure, found = model.predict_proba(X_test[:1])[0], model.predict(X_test[:1])[0]
    print(", ".join(f"{name} {p:.2f}{' *' if y else ''}" for name, p, y in zip(EMOTIONS, sure, found)))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FIELDCRAFT_DATA", "../shared/data")))
