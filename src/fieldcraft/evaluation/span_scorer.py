"""Counts spans as conlleval does, on integer label ids, without a loop over tokens.

A label is read as a letter and a type: ``B-LOC`` is (B, LOC). Letters are B, I, E, S and O; L and U
(BILOU) are read as E and S. With ``p``, ``c``, ``n`` three labels in a row (O stands before and
after each sequence):

    begins[p, c] = c is not O  and  (p is O, or their types differ, or c is B or S, or p is E or S)
    ends[c, n]   = c is not O  and  (n is O, or begins[c, n])

This is conlleval's lenient reading: every label other than O lies in exactly one span, so an I
without a B starts a span, and IOB1, IOB2, IO, IOBES and BILOU need no switch. Ill-formed sequences
are read, never refused.

Layout: ids of all sequences concatenated, ``ids [tokens]``, with ``offsets [N + 1]``; tables are
``[Y + 1, Y + 1]`` where the extra id Y stands outside the sequence. A span is correct if start, end
and type agree; starts are distinct within one labelling, so agreement is one comparison per token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation.scores import SpanScores, scores_from_counts

_LETTERS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}


class LabelReading(NamedTuple):
    """A label as a letter (B, I, E, S, O) and a type (empty for O)."""

    letter: str
    type: str


def read_prefixed(label: str) -> LabelReading:
    """Read ``B-LOC``, ``O`` or a bare ``B``; the type is all that follows the first dash."""
    if label == "O":
        return LabelReading("O", "")
    letter, _, type_ = label.partition("-")
    if letter not in _LETTERS:
        raise InputError(
            f"label {label!r} is neither O nor one of B I E S L U, a dash and a type; "
            "score these labels with token_accuracy, or pass scheme='raw'"
        )
    return LabelReading(_LETTERS[letter], type_)


def read_raw(label: str) -> LabelReading:
    """Read every label but O as a span of one token, like ``conlleval -r``."""
    return LabelReading("O", "") if label == "O" else LabelReading("S", label)


READINGS: Mapping[str, Callable[[str], LabelReading]] = {
    "conlleval": read_prefixed,
    "raw": read_raw,
}


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


class _Tables(NamedTuple):
    types: tuple[str, ...]  # sorted
    type_of: NDArray[np.intp]  # [Y + 1] index into types; -1 outside
    begins: NDArray[np.bool_]  # [Y + 1, Y + 1] (previous, current)
    ends: NDArray[np.bool_]  # [Y + 1, Y + 1] (current, next)


@dataclass(frozen=True)
class SpanScorer:
    """Scores labellings given as ids into ``label_names``; the tables are made on first use.

    ``scheme`` is a name in ``READINGS``: ``conlleval`` (IOB1, IOB2, IO, IOBES and BILOU alike) or
    ``raw`` (each label but O is a span of one token).

    >>> scorer = SpanScorer(["O", "B-LOC", "I-LOC"])
    >>> scorer.f([0, 1, 2], [0, 1, 0], offsets=[0, 3])
    0.0
    >>> scorer.f([0, 1, 2], [0, 2, 2], offsets=[0, 3])
    1.0
    """

    label_names: Sequence[str]
    scheme: str = "conlleval"

    @cached_property
    def _tables(self) -> _Tables:
        if self.scheme not in READINGS:
            raise InputError(
                f"scheme={self.scheme!r} is not one of {', '.join(READINGS)}; "
                "'conlleval' reads IOB1, IOB2, IO, IOBES and BILOU"
            )
        reading = READINGS[self.scheme]
        return _tables([*map(reading, self.label_names), LabelReading("O", "")])

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
        start = np.flatnonzero(tables.begins[previous, labels])
        end = np.flatnonzero(tables.ends[labels, following]) + 1
        return SpanArrays(start, end, tables.type_of[labels[start]])

    def counts(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> SpanCounts:
        """Spans per type in gold, in predicted, and in both."""
        expected, found = self.spans(gold, offsets), self.spans(predicted, offsets)
        n_tokens, n_types = np.size(gold), len(self.types)
        key = np.full(n_tokens, -1, dtype=np.intp)  # [tokens] end and type of the span from here
        key[expected.start] = expected.end * n_types + expected.type
        agree = key[found.start] == found.end * n_types + found.type  # [found spans]
        return SpanCounts(
            np.bincount(expected.type, minlength=n_types),
            np.bincount(found.type, minlength=n_types),
            np.bincount(found.type[agree], minlength=n_types),
        )

    def scores(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> SpanScores:
        """Precision, recall and F per type and over all."""
        counts = self.counts(gold, predicted, offsets)
        return scores_from_counts(self.types, *(column.tolist() for column in counts))

    def f(self, gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike) -> float:
        """conlleval's F over all types, between 0 and 1; 0 where there is no correct span."""
        counts = self.counts(gold, predicted, offsets)
        total = int(counts.gold.sum() + counts.predicted.sum())
        return 2.0 * int(counts.correct.sum()) / total if total else 0.0

    def _checked(self, ids: ArrayLike, offsets: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        labels = _integers(ids, "labels")
        bounds = _integers(offsets, "offsets")
        limit = len(self.label_names)
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < limit:
            raise InputError(f"label ids must lie in 0..{limit - 1}, the places of label_names")
        if (
            len(bounds) == 0
            or bounds[0] != 0
            or bounds[-1] != len(labels)
            or np.any(bounds[1:] < bounds[:-1])
        ):
            raise InputError(f"offsets must rise from 0 to the {len(labels)} labels given")
        return labels, bounds


def _integers(values: ArrayLike, name: str) -> NDArray[np.intp]:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be integers in one dimension; got {array.dtype} {array.shape}")
    return array.astype(np.intp)


def _tables(readings: Sequence[LabelReading]) -> _Tables:
    types = tuple(sorted({reading.type for reading in readings if reading.letter != "O"}))
    place = {type_: index for index, type_ in enumerate(types)}
    letter = np.array([reading.letter for reading in readings])  # [Y + 1]
    inside = letter != "O"
    type_of = np.array(
        [place[reading.type] if reading.letter != "O" else -1 for reading in readings],
        dtype=np.intp,
    )
    opens, closes = np.isin(letter, ("B", "S")), np.isin(letter, ("E", "S"))
    cut = ~inside[:, None] | (type_of[:, None] != type_of) | opens | closes[:, None]
    begins = inside & cut
    ends = inside[:, None] & (~inside | begins)
    return _Tables(types, type_of, begins, ends)
