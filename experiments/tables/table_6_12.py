"""Table 6.12: linear pools of experts, entities."""

from __future__ import annotations

from experiments.pool_tables import of_linear_pools

PRINTED = {
    "label": (88.59, 82.24),
    "positional": (88.73, 82.32),
    "simple": (89.33, 82.99),
    "random": (87.28, 81.23),
}
TABLE = of_linear_pools("6.12", "entities", PRINTED)
