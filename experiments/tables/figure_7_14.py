"""Figure 7.14: LABEL experts trained together, development data."""

from __future__ import annotations

from experiments.cooperation_figures import MANY, figure, with_experts

FIGURE = figure(
    "7.14",
    "LABEL experts trained together",
    "development",
    ("together", with_experts("label", **MANY)),
)
