"""Gold and predicted labels as arrays of ids, and accuracies on them.

Layout: ids of all sequences concatenated, ``[tokens]``, with ``offsets [N + 1]``. Ids follow first
appearance, gold first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

Labellings: TypeAlias = Iterable[Sequence[str]]
Ids: TypeAlias = NDArray[np.integer[Any]]


class Encoded(NamedTuple):
    """Two labellings of the same sequences."""

    names: list[str]
    gold: NDArray[np.int32]  # [tokens] ids into names
    predicted: NDArray[np.int32]  # [tokens]
    offsets: NDArray[np.int64]  # [N + 1]


def encode(gold: Labellings, predicted: Labellings) -> Encoded:
    """Number the labels; sequences must come in pairs of equal length."""
    expected, actual = _rows(gold, "gold"), _rows(predicted, "predicted")
    if len(expected) != len(actual):
        raise InputError(
            f"{len(actual)} predicted sequences where gold has {len(expected)}; pass them in pairs"
        )
    lengths = [len(labels) for labels in expected]
    if lengths != [len(labels) for labels in actual]:
        raise _length_error(expected, actual)
    number_of: dict[str, int] = {}
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    gold_ids = _numbered(expected, number_of, int(offsets[-1]))
    predicted_ids = _numbered(actual, number_of, int(offsets[-1]))
    return Encoded(list(number_of), gold_ids, predicted_ids, offsets)


def decode(ids: Ids, offsets: Ids, names: Sequence[str]) -> list[list[str]]:
    """Undo ``encode`` for one side."""
    labels = [names[label] for label in ids.tolist()]
    return [labels[start:end] for start, end in pairwise(offsets.tolist())]


def token_accuracy(gold: Ids, predicted: Ids, offsets: Ids) -> float:  # noqa: ARG001
    """Tokens labelled as in gold / tokens."""
    return float(np.mean(gold == predicted)) if len(gold) else 0.0


def sequence_accuracy(gold: Ids, predicted: Ids, offsets: Ids) -> float:
    """Sequences labelled wholly as in gold / sequences."""
    if len(offsets) <= 1:
        return 0.0
    errors = np.concatenate(([0], np.cumsum(gold != predicted)))  # [tokens + 1] errors before t
    return float(np.mean(errors[offsets[1:]] == errors[offsets[:-1]]))


def _rows(labellings: Labellings, side: str) -> list[Sequence[str]]:
    rows = list(labellings)
    flat = next((i for i, labels in enumerate(rows) if isinstance(labels, (str, bytes))), None)
    if flat is not None:
        raise InputError(
            f"{side} labels, sequence {flat}: {rows[flat]!r} is a string where a list of labels was "
            "expected; put a single sequence in a list"
        )
    return rows


def _numbered(rows: list[Sequence[str]], number_of: dict[str, int], n_tokens: int) -> NDArray[np.int32]:
    ids = (number_of.setdefault(label, len(number_of)) for label in chain.from_iterable(rows))
    return np.fromiter(ids, np.int32, n_tokens)


def _length_error(gold: list[Sequence[str]], predicted: list[Sequence[str]]) -> InputError:
    index = next(i for i, pair in enumerate(zip(gold, predicted)) if len(pair[0]) != len(pair[1]))
    return InputError(
        f"sequence {index}: {len(predicted[index])} predicted labels where gold has "
        f"{len(gold[index])}; label every token once"
    )
