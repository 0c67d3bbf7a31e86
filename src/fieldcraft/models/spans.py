"""The probability that a span is an entity, as a sum of probabilities of windows of label sets.

A span (start, end, X) is an entity of a labelling when ``schemes.spans`` of the
labelling contains it. With tags B I E S of type X that is a sum of disjoint cases: the first tag
opens a span by itself (B, S), or because the tag before it does not continue into it (I, E); the last tag
closes it by itself (E, S), or because the tag after it does not continue it (B, I); all tags between are I.
If the labels form no scheme, every position has the label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import OUTSIDE, is_tag_set
from fieldcraft.corpus.schemes import spans as scheme_spans
from fieldcraft.errors import InputError

LETTERS = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
OPENS, CLOSES = ("B", "S"), ("E", "S")


class Window(NamedTuple):
    """Positions first .. with the labels allowed at each: bool [n, Y]."""

    first: int
    allowed: NDArray[np.bool_]


def as_span(value: Any, sequence: int) -> Span:
    """A span of a sequence from (start, end, label)."""
    try:
        start, end, label = value
        return Span(int(start), int(end), label)
    except (TypeError, ValueError):
        raise InputError(f"sequence {sequence}: {value!r} is not a span; pass (start, end, label)") from None


def predicted_spans(labels: Sequence[str], names: Sequence[str]) -> list[Span]:
    """The spans of a labelling: of the scheme that ``names`` form, else runs of one label other than O."""
    if is_tag_set(names):
        return scheme_spans(labels)
    spans, start = [], 0
    for label, run in groupby(labels):
        end = start + len(list(run))
        if label != OUTSIDE:
            spans.append(Span(start, end, label))
        start = end
    return spans


def window_probabilities(
    ask: Callable[..., NDArray[np.float64]], cases: Sequence[Sequence[Sequence[Window]]]
) -> list[list[float]]:
    """Per sequence and span the summed probability of its disjoint windows.

    Parameters
    ----------
    ask : (sequence [R], first [R], ptr [R + 1], allowed [positions, Y]) -> [R] probabilities of windows
    cases : for each sequence, for each of its spans the windows
    """
    spans = [case for row in cases for case in row]
    windows = [window for case in spans for window in case]
    total = np.zeros(len(spans))
    if windows:
        owner = np.repeat(np.arange(len(spans)), [len(case) for case in spans])
        sequence = np.repeat(np.arange(len(cases)), [len(row) for row in cases])[owner]
        ptr = np.concatenate([[0], np.cumsum([len(window.allowed) for window in windows])])
        first = np.array([window.first for window in windows], np.int64)
        allowed = np.concatenate([window.allowed for window in windows])
        np.add.at(total, owner, ask(sequence, first, ptr, allowed))
    sums = iter(np.minimum(total, 1.0).tolist())
    return [[next(sums) for _ in row] for row in cases]


class SpanWindows:
    """Windows of spans over a set of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.tagged = is_tag_set(self.labels)
        self._rows: dict[tuple[str, str], NDArray[np.bool_]] = {}  # results of _tags

    @cached_property
    def _known(self) -> set[str]:
        return {name.partition("-")[2] for name in self.labels} if self.tagged else set(self.labels)

    def of(self, start: int, end: int, label: str, length: int) -> list[Window]:
        """Disjoint windows for the span [start, end) of ``label`` in a sequence of ``length``."""
        if not 0 <= start < end <= length:
            raise InputError(
                f"span ({start}, {end}, {label!r}): positions must satisfy 0 <= start < end <= {length}"
            )
        if label not in self._known:
            raise InputError(
                f"span ({start}, {end}, {label!r}): the model has no such label; "
                f"it has {', '.join(sorted(self._known - {''}))}"
            )
        if not self.tagged:
            return [Window(start, np.tile(self._names(lambda name: name == label), (end - start, 1)))]
        windows = []
        for first, last in product("BIES", repeat=2):
            if end - start == 1 and first != last:
                continue
            if end - start > 1 and (first in ("E", "S") or last in ("B", "S")):
                continue
            windows.append(self._window(start, end, label, length, first, last))
        return [window for window in windows if window.allowed.any(axis=1).all()]

    def _window(self, start: int, end: int, X: str, length: int, first: str, last: str) -> Window:
        inside = [self._tags(X, "I")] * max(0, end - start - 2)
        rows = [self._tags(X, first)]
        if end - start > 1:
            rows = [*rows, *inside, self._tags(X, last)]
        if first not in OPENS and start > 0:
            rows.insert(0, ~self._tags(X, "BI"))
            start -= 1
        if last not in CLOSES and end < length:
            rows.append(~self._tags(X, "IE"))
        return Window(start, np.array(rows))

    def _tags(self, X: str, letters: str) -> NDArray[np.bool_]:
        """Labels of type X (a bare letter has the empty type) with one of the letters B I E S."""
        if (X, letters) not in self._rows:
            pairs = ((*name.partition("-"),) for name in self.labels)
            row = np.array([type_ == X and LETTERS.get(tag, "-") in letters for tag, _, type_ in pairs])
            self._rows[X, letters] = row
        return self._rows[X, letters]

    def _names(self, wanted: object) -> NDArray[np.bool_]:
        assert callable(wanted)
        return np.array([bool(wanted(name)) for name in self.labels])
