"""Confidence: is it right (reliability), and what does a threshold cost (precision and recall)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldcraft.errors import InputError
from fieldcraft.evaluation.calibration import Reliability
from fieldcraft.plots.figures import COLOURS, cut, finished, line_style, new_figure, plain_axes

MARKERS = ("o", "s", "^", "D", "v")


def reliability(found: Reliability | Mapping[str, Reliability], *, path: Any = None) -> Any:
    """Draw accuracy against confidence, and below it how many tokens have which confidence.

    A line below the diagonal is a model that is too sure of itself.

    Parameters
    ----------
    found : what ``metrics.reliability`` returns; or several by name, for example before and
        after a calibration
    path : file or stream to write to; None for none
    """
    rows = {"": found} if isinstance(found, Reliability) else dict(found)
    figure = new_figure((5, 5.8))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1.3))
    above.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1, label="accuracy = confidence")
    for i, (name, row) in enumerate(rows.items()):
        used = row.count > 0
        label = f"{cut(name, 30)}: error {row.error:.3f}, log-loss {row.log_loss:.3f}".removeprefix(": ")
        style = {**line_style(i), "marker": MARKERS[i % len(MARKERS)], "markersize": 5}
        above.plot(row.confidence[used], row.accuracy[used], label=label, **style)
        below.stairs(row.count, row.edges, color=COLOURS[i % len(COLOURS)], linewidth=1.5)
    for axes in (above, below):
        plain_axes(axes)
        axes.set_xlim(0, 1)
    above.set_ylim(0, 1.02)
    above.set_ylabel("accuracy")
    if rows:
        above.legend(fontsize=8.5, loc="upper left")
    below.set_yscale("symlog", linthresh=1)
    below.set_ylim(bottom=0)
    below.set_ylabel("tokens")
    below.set_xlabel("confidence (probability of the most probable label)")
    return finished(figure, path)


def precision_recall(
    confidence: ArrayLike, correct: ArrayLike, n_gold: int, *, unit: str = "spans", path: Any = None
) -> Any:
    """Draw precision and recall of predictions whose confidence is at least a threshold.

    Parameters
    ----------
    confidence : [n] probability of each predicted span
    correct : [n] whether it is right
    n_gold : how many gold spans there are
    unit : what was counted
    path : file or stream to write to; None for none
    """
    sure, right = np.asarray(confidence, np.float64), np.asarray(correct, bool)
    if sure.shape != right.shape or sure.ndim != 1:
        raise InputError(f"confidence has shape {sure.shape}, correct {right.shape}; pass one of each")
    thresholds, precision, recall = thresholds_of(sure, right, n_gold)
    figure = new_figure((8.4, 3.7))
    left, right_axes = figure.subplots(1, 2, sharey=True)
    left.plot(thresholds, precision, label="precision", drawstyle="steps-pre", **line_style(0))
    left.plot(thresholds, recall, label="recall", drawstyle="steps-pre", color=COLOURS[1], linestyle="--")
    left.set_xlabel(f"threshold: {unit} of at least this probability")
    left.set_xlim(0, 1)
    left.set_ylabel("per cent")
    left.legend(fontsize=8.5, loc="lower left")
    right_axes.plot(recall, precision, color=COLOURS[2], linewidth=1.6)
    right_axes.set_xlabel("recall, per cent")
    right_axes.set_ylabel("precision, per cent")
    for axes in (left, right_axes):
        plain_axes(axes)
        axes.set_ylim(0, 102)
    right_axes.set_xlim(0, 102)
    return finished(figure, path)


def thresholds_of(confidence: Any, correct: Any, n_gold: int) -> tuple[Any, Any, Any]:
    """Thresholds, rising, with precision and recall in per cent of the predictions that reach each of them.

    >>> t, p, r = thresholds_of(np.array([0.9, 0.5, 0.9]), np.array([True, False, True]), 4)
    >>> t.tolist(), p.round(1).tolist(), r.tolist()
    ([0.5, 0.9], [66.7, 100.0], [50.0, 50.0])
    """
    order = np.argsort(-confidence, kind="stable")
    sure, hits = confidence[order], np.cumsum(correct[order])
    last = np.flatnonzero(np.diff(sure, append=-1.0) != 0)  # the last of each value
    precision = 100 * hits[last] / (last + 1)
    recall = 100 * hits[last] / max(1, n_gold)
    return sure[last][::-1], precision[::-1], recall[::-1]


def spans_by_confidence(
    predicted: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]]
) -> tuple[Any, Any, int]:
    """Arguments of ``precision_recall`` from predicted (span, probability) pairs and gold spans per sequence.

    >>> spans_by_confidence([[((0, 1, "A"), 0.9)]], [[(0, 1, "A"), (2, 3, "B")]])
    (array([0.9]), array([ True]), 2)
    """
    if len(predicted) != len(gold):
        raise InputError(f"{len(predicted)} predicted sequences, {len(gold)} gold ones; pass as many")
    pairs = [
        (float(p), tuple(span) in {tuple(g) for g in right})
        for row, right in zip(predicted, gold)
        for span, p in row
    ]
    sure, hits = np.array([p for p, _ in pairs], np.float64), np.array([hit for _, hit in pairs], bool)
    return sure, hits, sum(map(len, gold))
