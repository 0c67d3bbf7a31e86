"""Table 5.13: variances of transitions and emissions, tagging."""

from __future__ import annotations

from experiments.families import dependency, gaussian, printed, unregularised
from experiments.table import Row, Table

TASK = "tagging"
TABLE = Table(
    "5.13",
    "Variances of transitions and emissions, tagging",
    TASK,
    (
        Row("∞, ∞", unregularised(TASK), (96.76, 96.32)),
        Row("5.1, 3.2", printed(TASK, "dependency", 5.1, 3.2), (97.10, 96.73)),
        Row("3.2, 2.4", printed(TASK, "dependency", 3.2, 2.4), (97.11, 96.74)),
        Row("3.7, 2.7", printed(TASK, "dependency", 3.7, 2.7), (97.11, 96.73)),
        Row("chosen here", dependency(TASK)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Lines name sigma of transitions and of emissions. Chosen: both as multiples of the best single "
        "sigma, then that.",
    ),
)
