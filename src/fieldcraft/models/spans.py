"""When is a span an entity? The windows of label sets whose probabilities add up to the answer.

A span (start, end, X) is an entity of a labelling when the labelling's spans, read as everywhere
(schemes.spans), contain it. With tags B I E S of type X that is a sum of disjoint cases: the first tag
opens by itself (B, S) or only because the tag before is not an open one of X (I, E); the last tag
closes by itself (E, S) or only because the tag after does not go on (B, I); between them stands I.
Labels that are no scheme: every position has the label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import is_tag_set
from fieldcraft.errors import InputError
from fieldcraft.structures import queries

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


def span_probabilities(
    potentials: Any,
    offsets: NDArray[np.int64],
    labels: Sequence[str],
    spans: Sequence[Iterable[Any]],
    n_jobs: int,
) -> list[list[float]]:
    """Probability of each span; ``spans`` has a list of (start, end, label) per sequence."""
    lengths = np.diff(offsets).tolist()
    if len(spans) != len(lengths):
        raise InputError(f"{len(spans)} lists of spans for {len(lengths)} sequences; give one list for each")
    asked = [(i, as_span(span, i)) for i, listed in enumerate(spans) for span in listed]
    windows = SpanWindows(labels)
    cases = [windows.of(*span, lengths[i]) for i, span in asked]
    found = iter(queries.spans(potentials, [i for i, _ in asked], cases, n_jobs))
    return [[next(found) for _ in listed] for listed in spans]


class SpanWindows:
    """Windows of spans over a set of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.tagged = is_tag_set(self.labels)
        self._rows: dict[tuple[str, str], NDArray[np.bool_]] = {}  # what _tags has found

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
                f"span ({start}, {end}, {label!r}): the model knows no such label; "
                f"it knows {', '.join(sorted(self._known - {''}))}"
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
        if (X, letters) not in self._rows:
            pairs = ((*name.partition("-"),) for name in self.labels)
            row = np.array([type_ == X and LETTERS.get(tag, "-") in letters for tag, _, type_ in pairs])
            self._rows[X, letters] = row
        return self._rows[X, letters]

    def _names(self, wanted: object) -> NDArray[np.bool_]:
        assert callable(wanted)
        return np.array([bool(wanted(name)) for name in self.labels])
