"""Table 5.1: rare features left out, entities."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.1",
    "Rare features left out, entities",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
        Row("1", unregularised(TASK, min_count=2), (87.72, 80.58)),
        Row("1 and 2", unregularised(TASK, min_count=3), (86.54, 80.36)),
        Row("1, 2 and 3", unregularised(TASK, min_count=4), (86.34, 80.80)),
    ),
    measures=("development", "test", "converged", "converged test", "features"),
    baselines=(("STANDARD", unregularised(TASK)),),
    notes=(
        "Models without a prior are those with the best development score while training; converged beside.",
        "A line names the frequencies that are removed.",
    ),
)
