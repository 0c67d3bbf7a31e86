"""Are probabilities right? Of the tokens that a model is 80 % sure of, about 80 % should be correct.

    confidence of a token       = the largest of its marginal probabilities
    expected calibration error  = sum over bins of (tokens in the bin / tokens) * |accuracy - mean confidence|
    log-loss                    = mean over tokens of -log p(gold label)

A bin holds the tokens whose confidence lies in (k / bins, (k + 1) / bins]. Everything here takes labels and
arrays of probabilities, as ``predict_proba`` returns them, and no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import markup
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.evaluation.labellings import Labellings
from fieldcraft.evaluation.reports import aligned

Floats = NDArray[np.float64]
LEAST = 1e-300  # log-loss counts a probability of 0 as this


@dataclass(frozen=True, eq=False)
class Reliability:
    """Confidence against accuracy, bin by bin. ``print`` shows the table.

    Parameters
    ----------
    edges : [bins + 1] bounds of the bins
    count : [bins] tokens in each
    confidence : [bins] their mean confidence; nan in an empty bin
    accuracy : [bins] the fraction of them whose most probable label is right; nan in an empty bin
    log_loss : mean of -log p(gold label) over all tokens, in nats
    """

    edges: Floats
    count: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats
    log_loss: float

    @property
    def error(self) -> float:
        """The expected calibration error, between 0 and 1."""
        used = self.count > 0
        if not used.any():
            return 0.0
        gap = np.abs(self.accuracy - self.confidence)[used]
        return float(np.average(gap, weights=self.count[used]))

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return markup.fragment(markup.table(head, rows), markup.paragraph(self._notes()))

    def __str__(self) -> str:
        return f"{aligned(self._rows(), cut=False)}\n\n{self._notes()}"

    def _notes(self) -> str:
        return f"expected calibration error {self.error:.4f}; log-loss {self.log_loss:.4f} nats per token"

    def _rows(self) -> list[list[str]]:
        rows = [["confidence", "tokens", "mean", "accuracy"]]
        for low, high, n, sure, right in zip(
            self.edges, self.edges[1:], self.count, self.confidence, self.accuracy
        ):
            if n:
                rows.append([f"{low:.2f} to {high:.2f}", f"{n:,d}", f"{sure:.3f}", f"{right:.3f}"])
        return rows


def reliability(
    gold: Labellings, probabilities: Iterable[Any], classes: Sequence[str], *, bins: int = 15
) -> Reliability:
    """Compare confidence with accuracy.

    Parameters
    ----------
    gold : label lists
    probabilities : [T, Y] for each sequence, as predict_proba returns them
    classes : [Y] the labels, in the order of the columns: ``classes_``
    bins : how many intervals of equal width cut the confidences

    >>> found = reliability([["A", "B"]], [[[0.8, 0.2], [0.6, 0.4]]], ["A", "B"], bins=5)
    >>> found.count.tolist(), found.accuracy[2:4].tolist(), round(found.error, 3)
    ([0, 0, 1, 1, 0], [0.0, 1.0], 0.4)
    """
    bins = whole_number(bins, "bins", 1)
    p, label = _table(gold, probabilities, classes)
    sure, best = p.max(axis=1, initial=0.0), p.argmax(axis=1) if len(p) else label
    edges = np.arange(bins + 1) / bins
    where = np.clip(np.searchsorted(edges, sure, side="left") - 1, 0, bins - 1)
    count = np.bincount(where, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(where, sure, bins) / count
        accuracy = np.bincount(where, best == label, bins) / count
    return Reliability(edges, count, confidence, accuracy, _log_loss(p, label))


def expected_calibration_error(
    gold: Labellings, probabilities: Iterable[Any], classes: Sequence[str], *, bins: int = 15
) -> float:
    """The mean distance of confidence from accuracy over tokens, between 0 and 1; see ``reliability``.

    >>> expected_calibration_error([["A", "B"]], [[[1.0, 0.0], [0.0, 1.0]]], ["A", "B"])
    0.0
    """
    return reliability(gold, probabilities, classes, bins=bins).error


def log_loss(gold: Labellings, probabilities: Iterable[Any], classes: Sequence[str]) -> float:
    """The mean of -log p(gold label) over tokens, in nats.

    >>> round(log_loss([["A", "B"]], [[[0.5, 0.5], [0.75, 0.25]]], ["A", "B"]), 4)
    1.0397
    """
    return _log_loss(*_table(gold, probabilities, classes))


def _log_loss(p: Floats, label: NDArray[np.int64]) -> float:
    if not len(label):
        return 0.0
    known = np.append(p, np.zeros((len(p), 1)), axis=1)  # the last column: a label the model does not know
    return float(-np.log(np.maximum(known[np.arange(len(label)), label], LEAST)).mean())


def _table(
    gold: Labellings, probabilities: Iterable[Any], classes: Sequence[str]
) -> tuple[Floats, NDArray[np.int64]]:
    """Probabilities [tokens, Y] and the numbers of the gold labels, -1 for one that is no class."""
    rows, tables = list(gold), [np.asarray(table, np.float64) for table in probabilities]
    names = [str(name) for name in classes]
    if len(rows) != len(tables):
        raise InputError(
            f"{len(tables)} arrays of probabilities for {len(rows)} sequences; give one for each"
        )
    for i, (row, table) in enumerate(zip(rows, tables)):
        if table.shape != (len(row), len(names)):
            raise InputError(
                f"sequence {i}: probabilities of shape {table.shape} for {len(row)} tokens and {len(names)} "
                "labels; pass predict_proba(X) and classes_ of one model"
            )
    number = {name: i for i, name in enumerate(names)}
    label = np.array([number.get(name, -1) for name in chain.from_iterable(rows)], np.int64)
    return np.concatenate([np.zeros((0, len(names))), *tables]), label
