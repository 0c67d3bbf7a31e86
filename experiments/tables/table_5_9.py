"""Table 5.9: variances by frequency, entities."""

from __future__ import annotations

from experiments.families import bins, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.9",
    "Variances by frequency, entities",
    TASK,
    (
        Row("∞, ∞", unregularised(TASK), (88.21, 81.60)),
        Row("197, 210", printed(TASK, "bins", 197.0, 210.0, follow=True), (89.04, 83.15)),
        Row("210, 217", printed(TASK, "bins", 210.0, 217.0, follow=True), (88.98, 83.34)),
        Row("191.2, 228.8", printed(TASK, "bins", 191.2, 228.8, follow=True), (89.06, 83.19)),
        Row("chosen here", bins(TASK)),
    ),
    measures=("development", "test", "converged", "converged test"),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Lines name sigma of features seen 1 to 3 and 4 to 10 times; those seen more often have no penalty, "
        "hence the best iteration counts, as without a prior; converged beside.",
    ),
)
