"""Table 5.16: a variance for each feature by count and context, entities."""

from __future__ import annotations

from experiments.families import by_reliability, gaussian, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.16",
    "A variance for each feature by count and context, entities",
    TASK,
    (
        Row("STANDARD (none)", unregularised(TASK), (88.21, 81.60)),
        Row("FCB-IFR", by_reliability(TASK), (88.84, 82.84)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "The thesis does not say how variances follow from equation 5.14. Here: sigma squared over the "
        "variance of the feature's count. Chosen: sigma.",
    ),
)
