"""Figure 4.1: how the development score rises and falls while STANDARD is trained without a prior."""

from __future__ import annotations

from experiments.families import unregularised
from experiments.table import Figure

FIGURE = Figure(
    "4.1",
    "The development score while STANDARD is trained without a prior, entities",
    unregularised("entities"),
    "score",
    notes=("In the thesis the best score lies between iterations 100 and 120, with another optimiser.",),
)
