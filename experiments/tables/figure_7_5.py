"""Figure 7.5: Members trained together, without priors, development data."""

from __future__ import annotations

from experiments.cooperation_figures import figure

FIGURE = figure("7.5", "Members trained together, without priors", "development")
