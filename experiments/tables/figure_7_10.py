"""Figure 7.10: Members trained together, penalties gamma / A and gamma / A^2, development data."""

from __future__ import annotations

from experiments.cooperation_figures import DEFAULT, SQUARED, figure, with_experts

FIGURE = figure(
    "7.10",
    "Members trained together, penalties gamma / A and gamma / A^2",
    "development",
    DEFAULT,
    ("gamma / A^2", with_experts("simple", penalty="inverse_square", gammas=SQUARED)),
)
