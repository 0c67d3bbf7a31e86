"""Table 8.11: errors without gazetteer features and of a pool that keeps them apart."""

from __future__ import annotations

from experiments.families import gaussian, quarantined
from experiments.table import Contrast

TASK = "entities"
TABLE = Contrast(
    "8.11",
    "Errors without gazetteer features and of a pool that keeps them apart",
    TASK,
    ("STANDARD", gaussian(TASK)),
    ("S2G-STANDARD", quarantined("s2g", "standard")),
    ((44_991, 114), (305, 1_256)),
    notes=("The models are those of tables 8.5 and 8.9.",),
)
