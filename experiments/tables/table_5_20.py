"""Table 5.20: non-zero Gaussian prior means, tagging."""

from __future__ import annotations

from experiments.families import gaussian, shifted
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.20",
    "Non-zero Gaussian prior means, tagging",
    TASK,
    (
        Row("0", gaussian(TASK), (97.07, 96.69)),
        Row("-5", shifted(TASK, -5), (95.80, 95.46)),
        Row("-1", shifted(TASK, -1), (96.86, 96.48)),
        Row("-0.1", shifted(TASK, -0.1), (97.02, 96.68)),
        Row("0.1", shifted(TASK, 0.1), (97.14, 96.77)),
        Row("0.67", shifted(TASK, 0.67), (97.37, 96.97)),
        Row("1", shifted(TASK, 1), (97.31, 96.88)),
        Row("5", shifted(TASK, 5), (96.14, 95.68)),
    ),
    baselines=(("Gaussian", gaussian(TASK)),),
    notes=("The variance is the one chosen for the mean of zero. Chosen: mean, sigma.",),
)
