"""Sequences that arrive one by one and are encoded at once, so that nothing of the arguments is kept.

Layout: the arrays of ``Encoded``, with room at their ends. Ids follow first appearance among all sequences;
``split`` renumbers them for a part of the sequences, as if the others had never been appended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.user_features import FreeFeatures

Ints = NDArray[np.int64]


class Growing:
    """An array that grows at its end. A view of it stays valid, and unchanged, when the array grows."""

    def __init__(self, dtype: Any, start: Any = ()) -> None:
        self._room = np.array(start, dtype)
        self._size = len(self._room)

    def __len__(self) -> int:
        return self._size

    def extend(self, values: NDArray[Any]) -> None:
        """Append values; now and then all of them move to an array half as large again."""
        end = self._size + len(values)
        if end > len(self._room):
            room = np.empty(max(end, len(self._room) * 3 // 2, 64), self._room.dtype)
            room[: self._size] = self._room[: self._size]
            self._room = room
        self._room[self._size : end] = values
        self._size = end

    def view(self) -> NDArray[Any]:
        """The values, not copied."""
        return self._room[: self._size]


class Split(NamedTuple):
    """Sequences to train on, and held-out ones, encoded with the attributes of the former alone."""

    encoder: FreeFeatures
    train: Encoded
    held_out: Encoded


class AppendedSequences:
    """A corpus of attribute ids that grows by one sequence at a time.

    >>> corpus = AppendedSequences()
    >>> corpus.append([["w=a"], ["w=b", "last"]])
    >>> corpus.append([["w=b"], {"w": "c"}])
    >>> split = corpus.split(np.array([1]), np.array([0]))
    >>> split.encoder.attribute_text(split.train.attributes), split.held_out.attributes.tolist()
    (['w=b', 'w:c'], [0])
    """

    def __init__(self) -> None:
        self._encoder = FreeFeatures()
        self._offsets = Growing(np.int64, [0])
        self._token_ptr = Growing(np.int64, [0])
        self._attributes = Growing(np.int32)
        self._values: Growing | None = None  # while all are 1

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def append(self, items: list[Any]) -> None:
        """Encode a sequence; an InputError leaves everything as it was."""
        try:
            one = self._encoder.encode([items], grow=True)
        except InputError as error:
            raise InputError(re.sub(r"^sequence 0", f"sequence {len(self)}", str(error))) from None
        if one.values is not None and self._values is None:
            self._values = Growing(np.float64, np.ones(len(self._attributes)))
        if self._values is not None:
            self._values.extend(np.ones(len(one.attributes)) if one.values is None else one.values)
        self._token_ptr.extend(one.token_ptr[1:] + len(self._attributes))
        self._attributes.extend(one.attributes)
        self._offsets.extend(one.offsets[1:] + self._offsets.view()[-1])

    def split(self, train: Ints, held_out: Ints, more: Sequence[Any] = ()) -> Split:
        """Encodings of two parts of the sequences, the same as those of a new encoder.

        Parameters
        ----------
        train : numbers of the sequences whose attributes are known
        held_out : numbers of sequences that lose all other attributes
        more : sequences of items that follow those of ``train``
        """
        whole, n = self._encoded(), self._encoder.n_attributes
        if len(train) == len(self):
            known, kept = whole, np.arange(n)
        else:
            known = _plain(whole.take(train))
            kept = _by_appearance(known.attributes)
        encoder = self._encoder.keep(kept)
        number = np.full(n, -1, np.int32)  # [A] own id -> id of the new encoder
        number[kept] = np.arange(len(kept))
        if known is not whole:
            known = known._replace(attributes=number[known.attributes])
        if more:
            known = _joined(known, encoder.encode(list(more), grow=True))
            added = encoder.attribute_text(range(len(kept), encoder.n_attributes))
            ids = self._encoder.ids(added)
            number[ids[ids >= 0]] = np.arange(len(kept), encoder.n_attributes, dtype=np.int32)[ids >= 0]
        return Split(encoder, known, _known(_plain(whole.take(held_out)), number))

    def _encoded(self) -> Encoded:
        values = None if self._values is None else self._values.view()
        return Encoded(self._offsets.view(), self._token_ptr.view(), self._attributes.view(), values)


def _by_appearance(ids: NDArray[np.int32]) -> Ints:
    """The different ids in the order of their first appearance."""
    different, first = np.unique(ids, return_index=True)
    return different[np.argsort(first)].astype(np.int64)


def _plain(encoded: Encoded) -> Encoded:
    """Without values where all of them are 1."""
    plain = encoded.values is not None and bool(np.all(encoded.values == 1.0))
    return encoded._replace(values=None) if plain else encoded


def _known(encoded: Encoded, number: NDArray[np.int32]) -> Encoded:
    """The same in other ids, without attributes whose number is -1."""
    ids = number[encoded.attributes]
    known = ids >= 0
    before = np.concatenate([[0], np.cumsum(known)])  # [nnz + 1]
    values = None if encoded.values is None else encoded.values[known]
    ptr = before[encoded.token_ptr].astype(np.int64)
    return Encoded(encoded.offsets, ptr, ids[known], values)


def _joined(first: Encoded, second: Encoded) -> Encoded:
    """The sequences of both."""
    values = None
    if first.values is not None or second.values is not None:
        parts = [np.ones(len(e.attributes)) if e.values is None else e.values for e in (first, second)]
        values = np.concatenate(parts)
    return Encoded(
        np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]]),
        np.concatenate([first.token_ptr, second.token_ptr[1:] + first.token_ptr[-1]]),
        np.concatenate([first.attributes, second.attributes]),
        values,
    )
