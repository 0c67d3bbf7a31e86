"""Figure 7.8: Members trained together, likelihoods weighted, development data."""

from __future__ import annotations

from experiments.cooperation_figures import DEFAULT, WEIGHTED, figure, with_experts

FIGURE = figure(
    "7.8",
    "Members trained together, likelihoods weighted",
    "development",
    DEFAULT,
    ("weighted (0.4, 0.6)", with_experts("simple", weighted=True, shares=(0.4, 0.6), gammas=WEIGHTED)),
    ("weighted, shares trained", with_experts("simple", weighted=True, train_weights=True, gammas=WEIGHTED)),
)
