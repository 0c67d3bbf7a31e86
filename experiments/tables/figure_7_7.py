"""Figure 7.7: Members trained together, with Gaussian priors, development data."""

from __future__ import annotations

from experiments.cooperation_figures import REGULARISED, figure, with_experts

FIGURE = figure(
    "7.7",
    "Members trained together, with Gaussian priors",
    "development",
    ("together", with_experts("simple", regularised=True, gammas=REGULARISED)),
)
