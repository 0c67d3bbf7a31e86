"""Table 6.9: pools of experts with a Gaussian prior, tagging."""

from __future__ import annotations

from experiments.pool_tables import of_regularised_experts

PRINTED = {
    "label": (96.66, 96.39),
    "positional": (96.78, 96.61),
    "simple": (97.34, 97.23),
    "random": (96.16, 96.08),
}
TABLE = of_regularised_experts("6.9", "tagging", PRINTED)
