"""Table 8.12: pools that keep gazetteer features apart, without a prior."""

from __future__ import annotations

from experiments.families import gaussian, quarantined, unregularised
from experiments.table import Row, Table

TASK, WITH = "entities", "standard+g"
PRINTED = {
    "s1g": (90.58, 84.87),
    "s2g": (90.70, 84.28),
    "s2ng": (89.70, 84.01),
    "s2nog": (89.48, 83.99),
    "s2noag": (89.40, 83.70),
}
TABLE = Table(
    "8.12",
    "Pools that keep gazetteer features apart, without a prior",
    TASK,
    tuple(
        Row(f"{name.upper()}-STANDARD", quarantined(name, "standard", regularised=False), figures)
        for name, figures in PRINTED.items()
    ),
    measures=("development", "test", "converged", "converged test"),
    baselines=(
        ("STANDARD+G", unregularised(TASK, WITH)),
        ("STANDARD+G, Gaussian", gaussian(TASK, WITH)),
    ),
    intervals=True,
    notes=(
        "Members are those with the best development score while training; converged, the pool of the same "
        "members at the end of training, with a share of its own.",
    ),
)
