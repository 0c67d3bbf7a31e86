"""Item sequences: the features of one sequence, and their attributes with values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fieldcraft.errors import InputError

NUMBERS = (bool, int, float, np.number, np.bool_)


class ItemSequence:
    """The items of one sequence; Trainer and Tagger take it wherever they take a list.

    >>> sequence = ItemSequence([["first"], {"word": "the", "next": {"length": 3}, "title": False}])
    >>> sequence, len(sequence)
    (<ItemSequence of size 2>, 2)
    >>> sequence.items()
    [{'first': 1.0}, {'word:the': 1.0, 'next:length': 3.0, 'title': 0.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self._items = list_of_items(pyseq)

    def items(self) -> list[dict[str, float]]:
        """Per item its attributes with their values."""
        return [dict(attributes(item)) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def list_of_items(pyseq: Iterable[Any]) -> list[Any]:
    """A sequence as a list; lists are not copied."""
    if isinstance(pyseq, ItemSequence):
        return pyseq._items
    if isinstance(pyseq, (str, bytes, Mapping)) or not hasattr(pyseq, "__iter__"):
        raise InputError(f"xseq is a {type(pyseq).__name__}; it must be a list of items")
    return pyseq if isinstance(pyseq, list) else list(pyseq)


def attributes(item: Any) -> Iterator[tuple[str, float]]:
    """The attributes of an item with their values, zeros included."""
    if isinstance(item, str):
        yield item, 1.0
    elif isinstance(item, Mapping):
        for name, value in item.items():
            yield from _named(name, value)
    else:
        for name in item:
            yield name, 1.0


def _named(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, NUMBERS):
        yield name, float(value)
    else:
        yield from ((f"{name}:{inner}", weight) for inner, weight in attributes(value))


def zero_names(item: Any, prefix: str = "") -> Iterator[str]:
    """The attributes that an item names with the value zero (False, 0, 0.0)."""
    if not isinstance(item, dict):
        return
    for name, value in item.items():
        if isinstance(value, dict):
            yield from zero_names(value, f"{prefix}{name}:")
        elif isinstance(value, NUMBERS) and not value:
            yield f"{prefix}{name}"


def zero_support(
    X: Sequence[Sequence[Any]], y: Sequence[Sequence[str]]
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """One-token sequences, one per label, with the attributes that occur with the value zero.

    In CRFsuite ``{"title": False}`` supports the feature (title, label), in fieldcraft it does not. These
    sequences, trained with the sample weight zero, add such features to the model and change nothing else.
    """
    seen: dict[str, dict[str, None]] = {}
    for items, labels in zip(X, y):
        for item, label in zip(items, labels):
            for name in zero_names(item):
                seen.setdefault(label, {})[name] = None
    return [[list(names)] for names in seen.values()], [[label] for label in seen]
