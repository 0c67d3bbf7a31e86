"""Figure 7.6: Members trained together, without priors, test data."""

from __future__ import annotations

from experiments.cooperation_figures import figure

FIGURE = figure("7.6", "Members trained together, without priors", "test")
