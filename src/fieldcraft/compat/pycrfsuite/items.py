"""Item sequences: the features of one sequence, their attributes with values, and its labels.

Items in the forms that ``fc.ChainCRF`` reads are read natively. Others that python-crfsuite takes (``bytes``,
any other iterable of names) are first turned into these by ``plain_item``, and only where the native reader
refused them, so that the usual forms cost nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from fieldcraft.errors import InputError
from fieldcraft.labels import UNORDERED, check_labels

NUMBERS = (bool, int, float, np.number, np.bool_)
DEEPEST = 50  # dicts in dicts
T = TypeVar("T")


class ItemSequence:
    """The items of one sequence, read once; Trainer and Tagger take it wherever they take a list.

    >>> sequence = ItemSequence([["first"], {"word": "the", "next": {"length": 3}, "title": False}])
    >>> sequence, len(sequence)
    (<ItemSequence of size 2>, 2)
    >>> sequence.items()
    [{'first': 1.0}, {'word:the': 1.0, 'next:length': 3.0, 'title': 0.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        items = list_of_items(pyseq)
        if not isinstance(pyseq, ItemSequence):
            items = [_read_item(item, t) for t, item in enumerate(items)]
        self._items: list[Any] = items

    def items(self) -> list[dict[str, float]]:
        """Per item its attributes with their values."""
        return [dict(attributes(item)) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _read_item(item: Any, token: int) -> list[str] | dict[str, float]:
    """The attributes of an item: names alone where all values are 1."""
    if type(item) is list and set(map(type, item)) <= {str}:
        return item.copy()
    try:
        pairs = list(attributes(plain_item(item)))
    except InputError as error:
        raise InputError(f"token {token}: {error}") from None
    return [name for name, _ in pairs] if all(value == 1.0 for _, value in pairs) else dict(pairs)


def list_of_items(pyseq: Iterable[Any]) -> list[Any]:
    """A sequence as a list; lists are not copied."""
    if isinstance(pyseq, list):
        return pyseq
    if isinstance(pyseq, ItemSequence):
        return pyseq._items
    if isinstance(pyseq, (str, bytes, Mapping)) or not hasattr(pyseq, "__iter__"):
        raise InputError(f"xseq is a {type(pyseq).__name__}; it must be a list of items")
    return list(pyseq)


def with_plain_items(ask: Callable[[list[Any]], T], sequences: list[list[Any]]) -> tuple[T, list[list[Any]]]:
    """ask(sequences), once more with plain items if these are refused; and the sequences that it took."""
    try:
        return ask(sequences), sequences
    except InputError:
        plain = [[plain_item(item) for item in items] for items in sequences]
    return ask(plain), plain


def plain_item(item: Any) -> Any:
    """An item as a str, a list or set of str, or a dict; what is in it is checked later."""
    if isinstance(item, (str, bytes)):
        return _text(item)
    if isinstance(item, Mapping):
        return _plain_dict(item, 0)
    if isinstance(item, (set, frozenset)):
        return {_text(name) for name in item}
    try:
        return [_text(name) for name in item]
    except TypeError:  # no iterable
        return item


def _plain_dict(item: Mapping[Any, Any], depth: int) -> Any:
    if depth > DEEPEST:  # it may contain itself; the reader refuses it
        return item
    return {_text(name): _plain_value(value, depth) for name, value in item.items()}


def _plain_value(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _plain_dict(value, depth + 1)
    if isinstance(value, (set, frozenset)):
        return {_text(name) for name in value}
    return [_text(name) for name in value] if isinstance(value, (list, tuple)) else _text(value)


def _text(name: Any) -> Any:
    """Bytes as text; anything else as it is."""
    if not isinstance(name, bytes):
        return name
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"{bytes(name)!r} is not UTF-8; decode it with its encoding, or with errors='replace'"
        ) from None


def attributes(item: Any, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The attributes of a plain item with their values, zeros included."""
    if isinstance(item, str):
        yield item, 1.0
    elif isinstance(item, Mapping) and depth <= DEEPEST:
        for name, value in item.items():
            yield from _named(_checked(name), value, depth)
    elif isinstance(item, (list, tuple)):
        yield from ((_checked(name), 1.0) for name in item)
    elif isinstance(item, (set, frozenset)):
        yield from ((name, 1.0) for name in sorted(map(_checked, item)))
    else:
        raise InputError(f"a {type(item).__name__} is no item; pass names or a dict of features")


def _named(name: str, value: Any, depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(value, NUMBERS):
        yield name, float(value)
    else:
        yield from ((f"{name}:{inner}", weight) for inner, weight in attributes(value, depth + 1))


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"the name of a feature is a {type(name).__name__}; it must be a str: use str(name)")
    return name


def zero_names(item: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The attributes that an item names with the value zero (False, 0, 0.0)."""
    for name, value in item.items():
        if type(value) is str:
            continue
        if isinstance(value, dict):
            yield from zero_names(value, f"{prefix}{name}:")
        elif isinstance(value, NUMBERS) and not value:
            yield f"{prefix}{name}"


def label_list(yseq: Any) -> list[str]:
    """The labels of one sequence, from any iterable of str or bytes; equal ones are one object."""
    if type(yseq) is list and set(map(type, yseq)) <= {str}:
        return list(map(sys.intern, yseq))
    if hasattr(yseq, "__iter__") and not isinstance(yseq, UNORDERED):
        yseq = [_text(label) for label in yseq]
    return [sys.intern(str.__str__(label)) for label in check_labels(1, [yseq])[0]]
