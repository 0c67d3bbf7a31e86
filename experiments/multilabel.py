"""Several labels for a row: all pairs of labels against independent classifiers, on three public sets.

    python -m experiments.multilabel [FOLDER] [SET ...] > experiments/results/multilabel.md

FOLDER holds multilabel/: emotions, scene and yeast as ARFF files with their usual split. Features are
standardised by the training rows. The variance of the Gaussian prior is chosen for each model by the exact
matches on a quarter of the training rows, drawn with seed 0, that the models of that choice do not see.

Emotions and scene have 6 labels and are trained by likelihood. Yeast has 14, all of them linked: a row's
junction tree has tables of 16,384 entries, so that the likelihood is slow; its pairs are trained by
pseudo-likelihood, and predictions are exact. Without pairs both objectives are the same.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import fieldcraft as fc

SETS = {"emotions": 6, "scene": 6, "yeast": 14}  # labels, the last columns
OBJECTIVES = {"emotions": "likelihood", "scene": "likelihood", "yeast": "pseudo_likelihood"}
VARIANCES = (0.01, 0.03, 0.1, 0.3)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Result(NamedTuple):
    """What was chosen, exact matches and right labels on test rows, CPU seconds of all trainings."""

    variance: float
    exact: float
    labels: float
    seconds: float


def rows(path: Path, n_labels: int) -> tuple[Floats, Ints]:
    """Features and labels of an ARFF file with one row per line."""
    compressed = path.with_name(path.name + ".gz")
    content = gzip.decompress(compressed.read_bytes()) if compressed.exists() else path.read_bytes()
    lines = [line.strip() for line in content.decode().splitlines()]
    begin = next(i for i, line in enumerate(lines) if line.lower().startswith("@data"))
    kept = [line for line in lines[begin + 1 :] if line and not line.startswith("%")]
    table = np.array([[float(cell) for cell in line.split(",")] for line in kept])
    return table[:, :-n_labels], table[:, -n_labels:].astype(np.int64)


def standardised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both with mean 0 and variance 1 on the training rows."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (train - mean) / spread, (test - mean) / spread


def measured(
    pairs: str, train: tuple[Floats, Ints], test: tuple[Floats, Ints], objective: str = "likelihood"
) -> Result:
    """Choose the variance on held-out training rows, train on all of them, count on the test rows."""
    begun = time.process_time()
    order = np.random.default_rng(0).permutation(len(train[0]))
    held, seen = order[: len(order) // 4], order[len(order) // 4 :]

    def fitted(variance: float, chosen: NDArray[np.int64]) -> fc.MultiLabelCRF:
        model = fc.MultiLabelCRF(pairs, prior=fc.Gaussian(variance=variance), objective=objective)
        return model.fit(train[0][chosen], train[1][chosen])

    scores = [fitted(variance, seen).score(train[0][held], train[1][held]) for variance in VARIANCES]
    best = VARIANCES[int(np.argmax(scores))]
    model = fitted(best, order)
    right = model.predict(test[0]) == test[1]
    seconds = time.process_time() - begun
    return Result(best, float(right.all(axis=1).mean()), float(right.mean()), seconds)


def main(folder: Path, names: list[str]) -> None:
    print("# Several labels for a row: all pairs of labels against independent classifiers\n")
    print("Exact matches (all labels of a row right) and right labels on test rows, in per cent. Printed by")
    print(f"`python -m experiments.multilabel {' '.join(names)}`.\n")
    print("| set | rows | model | objective | variance | exact match | labels right | CPU seconds |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in names:
        X, Y = rows(folder / "multilabel" / f"{name}-train.arff", SETS[name])
        X_test, Y_test = rows(folder / "multilabel" / f"{name}-test.arff", SETS[name])
        X, X_test = standardised(X, X_test)
        for pairs, called in (("none", "independent"), ("all", "all pairs")):
            found = measured(pairs, (X, Y), (X_test, Y_test), OBJECTIVES[name])
            cells = [name, f"{len(X):,} + {len(X_test):,}", called, OBJECTIVES[name], f"{found.variance:g}"]
            cells += [f"{100 * found.exact:.1f}", f"{100 * found.labels:.1f}", f"{found.seconds:.0f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    place = (
        given.pop(0)
        if given and given[0] not in SETS
        else os.environ.get("FIELDCRAFT_DATA", "../shared/data")
    )
    main(Path(place), given or list(SETS))
