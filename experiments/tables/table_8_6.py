"""Table 8.6: errors with and without gazetteer features."""

from __future__ import annotations

from experiments.families import gaussian
from experiments.table import Contrast

TASK = "entities"
TABLE = Contrast(
    "8.6",
    "Errors with and without gazetteer features",
    TASK,
    ("STANDARD", gaussian(TASK)),
    ("STANDARD+G", gaussian(TASK, "standard+g")),
    ((44_945, 160), (228, 1_333)),
    repaired=90.36,
    notes=("Both models have a Gaussian prior, its sigma chosen on development data.",),
)
