"""Table 4.6: the reference models, tagging."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "4.6",
    "The reference models, tagging",
    TASK,
    (
        Row("SIMPLE", unregularised(TASK, "simple"), (95.15, 94.84)),
        Row("STANDARD", unregularised(TASK), (96.76, 96.32)),
    ),
    measures=("development", "test", "converged", "converged test", "features"),
    baselines=(("SIMPLE", unregularised(TASK, "simple")),),
    notes=(
        "Models without a prior are those with the best development score while training; converged beside.",
        "The thesis has 18,482 and 189,339 features.",
    ),
)
