"""Table 6.11: the SIMPLE pool with a tuned share, tagging."""

from __future__ import annotations

from experiments.pool_tables import of_tuned_shares

TABLE = of_tuned_shares("6.11", "tagging", uniform=(97.30, 97.09), manual=(97.34, 97.18))
