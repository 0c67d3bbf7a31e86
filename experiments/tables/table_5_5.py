"""Table 5.5: rare features left out, and a Gaussian, entities."""

from __future__ import annotations

from experiments.families import gaussian, unregularised
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.5",
    "Rare features left out, and a Gaussian, entities",
    TASK,
    (
        Row("STANDARD", unregularised(TASK), (88.21, 81.60)),
        Row("1", gaussian(TASK, min_count=2), (88.91, 82.56)),
        Row("1 and 2", gaussian(TASK, min_count=3), (88.10, 82.41)),
        Row("1, 2 and 3", gaussian(TASK, min_count=4), (87.55, 82.00)),
    ),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=("A line names the frequencies that are removed. Chosen: sigma.",),
)
