"""Table 6.4: pools of experts, entities."""

from __future__ import annotations

from experiments.pool_tables import of_experts

PRINTED = {
    "label": (89.23, 83.55),
    "positional": (89.86, 84.50),
    "simple": (90.06, 84.03),
    "random": (88.77, 83.13),
}
TABLE = of_experts("6.4", "entities", PRINTED)
