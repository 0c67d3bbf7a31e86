"""Table 5.14: a variance for each feature by its count, entities."""

from __future__ import annotations

from experiments.families import by_count, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.14",
    "A variance for each feature by its count, entities",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
        Row("620", printed(TASK, "count", 620.0), (89.20, 82.97)),
        Row("chosen here", by_count(TASK)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=("The variance of a feature is its count times sigma squared.",),
)
