"""Table 5.12: variances of transitions and emissions, entities."""

from __future__ import annotations

from experiments.families import dependency, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.12",
    "Variances of transitions and emissions, entities",
    TASK,
    (
        Row("∞, ∞", unregularised(TASK), (88.21, 81.60)),
        Row("101.4, 44", printed(TASK, "dependency", 101.4, 44.0), (90.18, 83.69)),
        Row("44, 18", printed(TASK, "dependency", 44.0, 18.0), (90.09, 83.83)),
        Row("75, 25", printed(TASK, "dependency", 75.0, 25.0), (90.05, 83.57)),
        Row("chosen here", dependency(TASK)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Lines name sigma of transitions and of emissions. Chosen: both as multiples of the best single "
        "sigma, then that.",
    ),
)
