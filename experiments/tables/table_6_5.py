"""Table 6.5: pools of experts, tagging."""

from __future__ import annotations

from experiments.pool_tables import of_experts

PRINTED = {
    "label": (96.86, 96.62),
    "positional": (96.91, 96.65),
    "simple": (97.30, 97.09),
    "random": (96.81, 96.66),
}
TABLE = of_experts("6.5", "tagging", PRINTED)
