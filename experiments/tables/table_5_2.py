"""Table 5.2: rare features left out, tagging."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.2",
    "Rare features left out, tagging",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (96.76, 96.32)),
        Row("1", unregularised(TASK, min_count=2), (96.79, 96.39)),
        Row("1 and 2", unregularised(TASK, min_count=3), (96.68, 96.23)),
        Row("1, 2 and 3", unregularised(TASK, min_count=4), (96.64, 96.18)),
    ),
    measures=("development", "test", "converged", "converged test", "features"),
    baselines=(("STANDARD", unregularised(TASK)),),
    notes=(
        "Models without a prior are those with the best development score while training; converged beside.",
        "A line names the frequencies that are removed.",
    ),
)
