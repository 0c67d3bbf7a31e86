"""Figure 5.2: how many weights are not zero while an inequality model is trained."""

from __future__ import annotations

from experiments.families import sparsity
from experiments.table import Figure

FIGURE = Figure(
    "5.2",
    "Weights that are not zero while an inequality model is trained, entities",
    sparsity("entities", 0.001),
    "active",
    notes=(
        "The thesis does not say which width its figure has; here it is 0.001, the best of its table 5.25. "
        "There the number falls nearly all the way.",
    ),
)
