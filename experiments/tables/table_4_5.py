"""Table 4.5: the reference models, entities."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "4.5",
    "The reference models, entities",
    TASK,
    (
        Row("SIMPLE", unregularised(TASK, "simple"), (79.53, 69.22)),
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
    ),
    measures=("development", "test", "converged", "converged test", "features"),
    baselines=(("SIMPLE", unregularised(TASK, "simple")),),
    notes=(
        "Models without a prior are those with the best development score while training; converged beside.",
        "The thesis has 24,819 and 450,346 features.",
    ),
)
