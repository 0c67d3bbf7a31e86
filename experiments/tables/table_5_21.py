"""Table 5.21: the inequality prior, entities."""

from __future__ import annotations

from experiments.families import gaussian, printed, unregularised, window, windows
from experiments.table import Row, Table

TASK = "entities"
TABLE = Table(
    "5.21",
    "The inequality prior, entities",
    TASK,
    (
        Row("mode 1: 0.0005", printed(TASK, "window", 0.0005, optimiser="owlqn"), (89.63, 83.60)),
        Row(
            "mode 2: 0.0005, 0.0052",
            printed(TASK, "windows", 0.0005, 0.0052, optimiser="owlqn"),
            (90.08, 84.04),
        ),
        Row("mode 1, chosen here", window(TASK)),
        Row("mode 2, chosen here", windows(TASK)),
    ),
    measures=("development", "test", "active"),
    baselines=(("STANDARD", unregularised(TASK)), ("Gaussian", gaussian(TASK))),
    notes=(
        "Lines name the widths A and B. Chosen in mode 2: B as a multiple of A, then A, which is mode 1's.",
    ),
)
