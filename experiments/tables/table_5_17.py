"""Table 5.17: a variance for each feature by count and context, tagging."""

from __future__ import annotations

from experiments.families import by_reliability, gaussian, unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.17",
    "A variance for each feature by count and context, tagging",
    TASK,
    (
        Row("STANDARD (none)", unregularised(TASK), (96.76, 96.32)),
        Row("FCB-IFR", by_reliability(TASK), (96.87, 96.39)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "The thesis does not say how variances follow from equation 5.14. Here: sigma squared over the "
        "variance of the feature's count. Chosen: sigma.",
    ),
)
