"""Figure 7.11: Members trained together, penalties gamma / A and gamma / A^2, test data."""

from __future__ import annotations

from experiments.cooperation_figures import DEFAULT, SQUARED, figure, with_experts

FIGURE = figure(
    "7.11",
    "Members trained together, penalties gamma / A and gamma / A^2",
    "test",
    DEFAULT,
    ("gamma / A^2", with_experts("simple", penalty="inverse_square", gammas=SQUARED)),
)
