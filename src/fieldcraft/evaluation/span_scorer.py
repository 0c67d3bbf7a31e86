"""Counts spans on integer label ids, without a loop over tokens.

The rules for two labels in a row are those of span_rules. With ``in_span[t]`` saying that token t lies
in a span, a span begins where it may begin and no span continues:

    in_span[t] = starts[t] or (goes_on[t] and in_span[t-1])
               = a start lies at or behind the last token that does not go on
    begins[t]  = starts[t] and not (goes_on[t] and in_span[t-1])

It ends before the next token that does not go on, and counts if that pair closes.

Layout: ids of all sequences concatenated, ``ids [tokens]``, with ``offsets [N + 1]``. A span is
correct if start, end and type agree; starts are distinct within one labelling, so agreement is one
comparison per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation.scores import SpanScores, scores_from_counts
from fieldcraft.evaluation.span_rules import PairTables, pair_tables


class SpanCounts(NamedTuple):
    """Spans per type: in the gold labelling, in the predicted one, in both. int64 [types]."""

    gold: NDArray[np.int64]
    predicted: NDArray[np.int64]
    correct: NDArray[np.int64]


class SpanArrays(NamedTuple):
    """Half-open spans over the concatenated tokens, in order. intp [spans] each."""

    start: NDArray[np.intp]
    end: NDArray[np.intp]
    type: NDArray[np.intp]


@dataclass(frozen=True)
class SpanScorer:
    """Scores labellings that are ids into ``label_names``; the tables are made on first use.

    ``scheme`` is ``conlleval`` (IOB1, IOB2, IO, IOBES and BILOU alike) or ``raw`` (each label but O is
    a span of one token); with ``mode="strict"`` it is the scheme that spans must obey to count.

    >>> scorer = SpanScorer(["O", "B-LOC", "I-LOC"])
    >>> scorer.f([0, 1, 2], [0, 1, 0], offsets=[0, 3])
    0.0
    >>> scorer.f([0, 1, 2], [0, 2, 2], offsets=[0, 3])
    1.0
    """

    label_names: Sequence[str]
    scheme: str = "conlleval"
    mode: str = "lenient"

    @cached_property
    def _tables(self) -> PairTables:
        return pair_tables(self.label_names, self.scheme, self.mode)

    @property
    def types(self) -> tuple[str, ...]:
        """The types in the labels, sorted; the order of all counts."""
        return self._tables.types

    def spans(self, ids: ArrayLike, offsets: ArrayLike) -> SpanArrays:
        """The spans of a labelling."""
        tables, (labels, bounds) = self._tables, self._checked(ids, offsets)
        outside = len(self.label_names)
        first, last = bounds[:-1], bounds[1:]
        filled = first < last  # empty sequences have neither a first nor a last token
        previous = np.concatenate(([outside], labels))[:-1]  # [tokens]
        following = np.concatenate((labels, [outside]))[1:]  # [tokens]
        previous[first[filled]] = outside
        following[last[filled] - 1] = outside
        starts, goes_on = tables.starts[previous, labels], tables.goes_on[previous, labels]
        start = np.flatnonzero(starts & ~(goes_on & _after_a_span(starts, goes_on)))
        stops = np.flatnonzero(np.concatenate((~goes_on, [True]))[1:])  # last tokens of spans, if any
        end = stops[np.searchsorted(stops, start)]
        counted = tables.closes[labels[end], following[end]]
        return SpanArrays(start[counted], end[counted] + 1, tables.type_of[labels[start[counted]]])

    def counts(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> SpanCounts:
        """Spans per type in gold, in predicted, and in both."""
        expected, found, agree = self._found(gold, predicted, offsets)
        n = len(self.types)
        return SpanCounts(*(_times(part, n) for part in (expected.type, found.type, found.type[agree])))

    def counts_by_sequence(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> SpanCounts:
        """Spans of all types in gold, in predicted, and in both, sequence by sequence: [N] each."""
        expected, found, agree = self._found(gold, predicted, offsets)
        bounds = np.asarray(offsets)
        sides = expected.start, found.start, found.start[agree]
        places = (np.searchsorted(bounds, start, side="right") - 1 for start in sides)
        return SpanCounts(*(_times(place, len(bounds) - 1) for place in places))

    def _found(
        self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike
    ) -> tuple[SpanArrays, SpanArrays, NDArray[np.bool_]]:
        """Gold spans, predicted ones, and which of these are right."""
        expected, found = self.spans(gold, offsets), self.spans(predicted, offsets)
        n_types = len(self.types)
        key = np.full(np.size(gold), -1, dtype=np.intp)  # [tokens] end and type of the span from here
        key[expected.start] = expected.end * n_types + expected.type
        return expected, found, key[found.start] == found.end * n_types + found.type

    def scores(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> SpanScores:
        """Precision, recall and F per type and over all."""
        counts = self.counts(gold, predicted, offsets)
        return scores_from_counts(self.types, *(column.tolist() for column in counts))

    def f(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> float:
        """conlleval's F over all types, between 0 and 1; 0 where there is no correct span."""
        return self.scores(gold, predicted, offsets).f

    def _checked(self, ids: ArrayLike, offsets: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        labels = _integers(ids, "labels")
        bounds = _integers(offsets, "offsets")
        limit = len(self.label_names)
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < limit:
            raise InputError(f"label ids must lie in 0..{limit - 1}, the positions of label_names")
        if (
            len(bounds) == 0
            or bounds[0] != 0
            or bounds[-1] != len(labels)
            or np.any(bounds[1:] < bounds[:-1])
        ):
            raise InputError(f"offsets must rise from 0 to the {len(labels)} labels given")
        return labels, bounds


def _after_a_span(starts: NDArray[np.bool_], goes_on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the token before lies in a span [tokens]; False at the first."""
    if not (starts & goes_on).any():  # each start is the first token of its span: nothing to look for
        return np.zeros(len(starts), np.bool_)
    position = np.arange(len(starts))
    last_start = np.maximum.accumulate(np.where(starts, position, -1))
    last_cut = np.maximum.accumulate(np.where(goes_on, -1, position))
    return np.concatenate(([False], last_start >= last_cut))[:-1]


def _times(numbers: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """[n] how often each number occurs."""
    return np.bincount(numbers, minlength=n)


def _integers(values: ArrayLike, name: str) -> NDArray[np.intp]:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be integers in one dimension; got {array.dtype} {array.shape}")
    return array.astype(np.intp)
