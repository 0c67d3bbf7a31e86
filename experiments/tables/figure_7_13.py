"""Figure 7.13: POSITIONAL experts trained together, test data."""

from __future__ import annotations

from experiments.cooperation_figures import MANY, figure, with_experts

FIGURE = figure(
    "7.13",
    "POSITIONAL experts trained together",
    "test",
    ("together", with_experts("positional", **MANY)),
)
