"""Table 5.10: variances by frequency, tagging."""

from __future__ import annotations

from experiments.families import bins, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.10",
    "Variances by frequency, tagging",
    TASK,
    (
        Row("∞, ∞", unregularised(TASK), (96.76, 96.32)),
        Row("1.781, 2.3", printed(TASK, "bins", 1.781, 2.3, follow=True), (97.05, 96.58)),
        Row("2.3, 3.11", printed(TASK, "bins", 2.3, 3.11, follow=True), (97.03, 96.60)),
        Row("1.915, 2.685", printed(TASK, "bins", 1.915, 2.685, follow=True), (97.03, 96.58)),
        Row("chosen here", bins(TASK)),
    ),
    measures=("development", "test", "converged", "converged test"),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Lines name sigma of features seen 1 to 3 and 4 to 10 times; those seen more often have no penalty, "
        "hence the best iteration counts, as without a prior; converged beside.",
    ),
)
