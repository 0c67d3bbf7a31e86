"""Pictures from arrays and names; every function returns a figure of matplotlib, and writes it to ``path``.

matplotlib (``pip install matplotlib``) is imported when something is drawn. Labelled text is HTML and
needs nothing.
"""

from __future__ import annotations

from fieldcraft.plots.confidence import precision_recall, reliability
from fieldcraft.plots.contests import score_by_seconds
from fieldcraft.plots.curves import learning_curves, tuning_curve
from fieldcraft.plots.factor_graphs import factor_graph
from fieldcraft.plots.matrices import confusion, transitions
from fieldcraft.plots.segments import segmentation
from fieldcraft.plots.sentences import LabelledText, labelled_text
from fieldcraft.plots.weights import template_weights

__all__ = [
    "LabelledText",
    "confusion",
    "factor_graph",
    "labelled_text",
    "learning_curves",
    "precision_recall",
    "reliability",
    "score_by_seconds",
    "segmentation",
    "template_weights",
    "transitions",
    "tuning_curve",
]
