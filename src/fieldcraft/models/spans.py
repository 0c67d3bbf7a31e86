"""When is a span an entity? The windows of label sets whose probabilities add up to the answer.

A span (start, end, X) is an entity of a labelling when the labelling's spans, read as everywhere
(schemes.spans), contain it. With tags B I E S of type X that is a sum of disjoint cases: the first tag
opens by itself (B, S) or only because the tag before is not an open one of X (I, E); the last tag
closes by itself (E, S) or only because the tag after does not go on (B, I); between them stands I.
Labels that are no scheme: every position has the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import is_tag_set
from fieldcraft.errors import InputError

LETTERS = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}
OPENS, CLOSES = ("B", "S"), ("E", "S")


class Window(NamedTuple):
    """Positions first .. with the labels allowed at each: bool [n, Y]."""

    first: int
    allowed: NDArray[np.bool_]


def as_span(given: Any, sequence: int) -> Span:
    """What a user wrote for a span of a sequence."""
    try:
        start, end, label = given
        return Span(int(start), int(end), label)
    except (TypeError, ValueError):
        raise InputError(f"sequence {sequence}: {given!r} is not a span; give (start, end, label)") from None


class SpanWindows:
    """Windows of spans over a set of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.tagged = is_tag_set(self.labels)

    def of(self, start: int, end: int, label: str, length: int) -> list[Window]:
        """Disjoint windows for the span [start, end) of ``label`` in a sequence of ``length``."""
        if not 0 <= start < end <= length:
            raise InputError(
                f"span ({start}, {end}, {label!r}): positions must satisfy 0 <= start < end <= {length}"
            )
        known = {name.partition("-")[2] for name in self.labels} if self.tagged else set(self.labels)
        if label not in known:
            raise InputError(
                f"span ({start}, {end}, {label!r}): the model knows no such label; "
                f"it knows {', '.join(sorted(known - {''}))}"
            )
        if not self.tagged:
            return [Window(start, np.tile(self._names(lambda name: name == label), (end - start, 1)))]
        found = []
        for first, last in product("BIES", repeat=2):
            if end - start == 1 and first != last:
                continue
            if end - start > 1 and (first in ("E", "S") or last in ("B", "S")):
                continue
            found.append(self._window(start, end, label, length, first, last))
        return [window for window in found if window.allowed.any(axis=1).all()]

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
        pairs = ((*name.partition("-"),) for name in self.labels)
        return np.array([type_ == X and LETTERS.get(tag, "-") in letters for tag, _, type_ in pairs])

    def _names(self, wanted: object) -> NDArray[np.bool_]:
        assert callable(wanted)
        return np.array([bool(wanted(name)) for name in self.labels])
