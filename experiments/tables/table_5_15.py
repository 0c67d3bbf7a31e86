"""Table 5.15: a variance for each feature by its count, tagging."""

from __future__ import annotations

from experiments.families import by_count, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.15",
    "A variance for each feature by its count, tagging",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (96.76, 96.32)),
        Row("0.87", printed(TASK, "count", 0.87), (97.03, 96.54)),
        Row("chosen here", by_count(TASK)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=("The variance of a feature is its count times sigma squared.",),
)
