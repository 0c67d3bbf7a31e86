"""Table 5.7: a Gaussian on rare features alone, entities."""

from __future__ import annotations

from experiments.families import cutoff, gaussian, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.7",
    "A Gaussian on rare features alone, entities",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
        Row("Gaussian", gaussian(TASK), (89.86, 83.97)),
        Row("1", cutoff(TASK, 1), (89.00, 82.62)),
        Row("2", cutoff(TASK, 2), (88.99, 83.03)),
        Row("5", cutoff(TASK, 5), (89.14, 82.81)),
        Row("7", cutoff(TASK, 7), (89.29, 83.12)),
    ),
    measures=("development", "test", "converged", "converged test"),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Features seen more often than the threshold have no penalty, hence the best iteration counts, "
        "as without a prior; converged beside. Chosen: threshold, sigma.",
    ),
)
