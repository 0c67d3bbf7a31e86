"""Table 4.9: more and more features, without a prior."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "4.9",
    "More and more features, without a prior",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 87.91)),
        Row("A1", unregularised(TASK, "a1", reads_test=False), (88.03, 88.00)),
        Row("A2", unregularised(TASK, "a2", reads_test=False), (87.83, 87.70)),
        Row("A3", unregularised(TASK, "a3", reads_test=False), (87.34, 87.34)),
        Row("A4", unregularised(TASK, "a4", reads_test=False), (87.10, 86.89)),
    ),
    measures=("development", "converged", "features"),
    baselines=(("STANDARD", unregularised(TASK)),),
    notes=(
        "The first column is the best score while training; the ladder is scored on development data alone.",
    ),
)
