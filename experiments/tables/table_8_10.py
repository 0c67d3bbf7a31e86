"""Table 8.10: the shares of the members that have the gazetteer features."""

from __future__ import annotations

from experiments.families import quarantined
from experiments.table import Row, Table

PRINTED = {"s1g": 0.39, "s2g": 0.29, "s2ng": 0.43, "s2nog": 0.33, "s2noag": 0.39}
TABLE = Table(
    "8.10",
    "Shares of the members that have the gazetteer features",
    "entities",
    tuple(
        Row(f"{name.upper()}-STANDARD", quarantined(name, "standard"), (share,))
        for name, share in PRINTED.items()
    ),
    measures=("share",),
    notes=("The pools are those of table 8.9; the other member has the rest.",),
)
