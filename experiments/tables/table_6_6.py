"""Table 6.6: pools of bagged models, entities."""

from __future__ import annotations

from experiments.pool_tables import of_bags

PRINTED = {3: (87.05, 81.78), 5: (87.57, 82.29), 15: (88.05, 83.14)}
TABLE = of_bags("6.6", "entities", PRINTED)
