"""Table 5.8: a Gaussian on rare features alone, tagging."""

from __future__ import annotations

from experiments.families import cutoff, gaussian, unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.8",
    "A Gaussian on rare features alone, tagging",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (96.76, 96.32)),
        Row("Gaussian", gaussian(TASK), (97.07, 96.69)),
        Row("1", cutoff(TASK, 1), (96.97, 96.49)),
        Row("2", cutoff(TASK, 2), (96.98, 96.49)),
        Row("5", cutoff(TASK, 5), (96.98, 96.56)),
        Row("7", cutoff(TASK, 7), (97.01, 96.58)),
    ),
    measures=("development", "test", "converged", "converged test"),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Features seen more often than the threshold have no penalty, hence the best iteration counts, "
        "as without a prior; converged beside. Chosen: threshold, sigma.",
    ),
)
