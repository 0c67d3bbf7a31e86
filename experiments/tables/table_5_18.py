"""Table 5.18: positive Gaussian prior means, entities."""

from __future__ import annotations

from experiments.families import gaussian, shifted
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.18",
    "Positive Gaussian prior means, entities",
    TASK,
    (
        Row("0", gaussian(TASK), (89.86, 83.97)),
        Row("0.1", shifted(TASK, 0.1), (90.16, 84.03)),
        Row("0.5", shifted(TASK, 0.5), (90.44, 84.68)),
        Row("0.6", shifted(TASK, 0.6), (90.47, 84.43)),
        Row("1", shifted(TASK, 1), (90.35, 84.51)),
        Row("5", shifted(TASK, 5), (87.43, 81.36)),
        Row("10", shifted(TASK, 10), (87.16, 81.13)),
    ),
    baselines=(("Gaussian", gaussian(TASK)),),
    notes=("The variance is the one chosen for the mean of zero. Chosen: mean, sigma.",),
)
