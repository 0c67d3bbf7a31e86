"""Table 6.8: pools of experts with a Gaussian prior, entities."""

from __future__ import annotations

from experiments.pool_tables import of_regularised_experts

PRINTED = {
    "label": (89.68, 84.10),
    "positional": (89.21, 82.84),
    "simple": (90.00, 84.89),
    "random": (88.65, 83.01),
}
TABLE = of_regularised_experts("6.8", "entities", PRINTED)
