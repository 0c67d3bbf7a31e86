"""Table 6.7: pools of bagged models, tagging."""

from __future__ import annotations

from experiments.pool_tables import of_bags

PRINTED = {3: (96.72, 96.43), 5: (96.83, 96.52), 15: (96.95, 96.64)}
TABLE = of_bags("6.7", "tagging", PRINTED)
