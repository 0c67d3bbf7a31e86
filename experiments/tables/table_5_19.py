"""Table 5.19: negative Gaussian prior means, entities."""

from __future__ import annotations

from experiments.families import gaussian, shifted
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.19",
    "Negative Gaussian prior means, entities",
    TASK,
    (
        Row("0", gaussian(TASK), (89.86, 83.97)),
        Row("-0.1", shifted(TASK, -0.1), (89.64, 83.72)),
        Row("-0.5", shifted(TASK, -0.5), (89.11, 83.20)),
        Row("-1", shifted(TASK, -1), (88.65, 82.83)),
        Row("-5", shifted(TASK, -5), (88.26, 82.51)),
        Row("-10", shifted(TASK, -10), (88.07, 82.38)),
    ),
    baselines=(("Gaussian", gaussian(TASK)),),
    notes=("The variance is the one chosen for the mean of zero. Chosen: mean, sigma.",),
)
