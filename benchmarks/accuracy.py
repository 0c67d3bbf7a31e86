"""CoNLL-2003 English with the ``entities`` templates: the variance chosen on the development set.

    python -m benchmarks.accuracy

Every variance of the grid is trained to its optimum and scored on the development set; the best one
alone is scored on the test set. Labels are IOB2, columns word and part of speech.
"""

from __future__ import annotations

import json
from typing import Any

import fieldcraft as fc
from benchmarks.scores import f1
from benchmarks.timing import clock
from benchmarks.workloads import W2

VARIANCES = (1.0, 10.0, 50.0)


def entities(_: Any = None, *, variances: tuple[float, ...] = VARIANCES) -> dict[str, Any]:
    """Development F1 of each variance, test F1 of the best."""
    (X, y), (X_dev, y_dev), (X_test, y_test) = map(W2.by_column, ("train", "dev", "test"))
    begun, grid, models = clock(), {}, {}
    for variance in variances:
        crf = fc.ChainCRF(templates="entities", prior=fc.Gaussian(variance=variance))
        crf.fit(X, y)
        grid[variance], models[variance] = f1(y_dev, crf.predict(X_dev)), crf
    best = max(grid, key=lambda v: grid[v])
    return {
        "dev_f1": grid,
        "variance": best,
        "test_f1": f1(y_test, models[best].predict(X_test)),
        "features": len(models[best].features_),
        "seconds": clock() - begun,
    }


TASKS = {"entities": entities}

if __name__ == "__main__":
    print(json.dumps(entities(), indent=1))
