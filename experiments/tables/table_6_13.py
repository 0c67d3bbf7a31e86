"""Table 6.13: linear pools of experts, tagging."""

from __future__ import annotations

from experiments.pool_tables import of_linear_pools

PRINTED = {
    "label": (96.52, 96.45),
    "positional": (96.93, 96.60),
    "simple": (97.23, 97.01),
    "random": (96.64, 96.31),
}
TABLE = of_linear_pools("6.13", "tagging", PRINTED)
