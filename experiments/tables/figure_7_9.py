"""Figure 7.9: Members trained together, likelihoods weighted, test data."""

from __future__ import annotations

from experiments.cooperation_figures import DEFAULT, WEIGHTED, figure, with_experts

FIGURE = figure(
    "7.9",
    "Members trained together, likelihoods weighted",
    "test",
    DEFAULT,
    ("weighted (0.4, 0.6)", with_experts("simple", weighted=True, shares=(0.4, 0.6), gammas=WEIGHTED)),
    ("weighted, shares trained", with_experts("simple", weighted=True, train_weights=True, gammas=WEIGHTED)),
)
