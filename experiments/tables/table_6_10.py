"""Table 6.10: the SIMPLE pool with a tuned share, entities."""

from __future__ import annotations

from experiments.pool_tables import of_tuned_shares

TABLE = of_tuned_shares("6.10", "entities", uniform=(90.06, 84.03), manual=(90.07, 84.54))
