"""Lists of strings as numbers, in one pass of the core."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core


class StringLists(list[Any]):
    """A list of lists of strings with its numbers, so that they are found once."""

    def __init__(self, lists: list[Any]) -> None:
        super().__init__(lists)
        self.numbered = numbered(lists)


class NumberedStrings(NamedTuple):
    """Lists of strings: list i is ``names[numbers[t]]`` for t in offsets[i] .. offsets[i + 1] - 1."""

    names: list[str]  # in the order of their first appearance
    numbers: NDArray[np.int32]
    offsets: NDArray[np.int64]  # [lists + 1]


def numbered(lists: Any) -> NumberedStrings | None:
    """The strings of all lists as numbers; None if anything else than lists of plain strings is there.

    >>> numbered([["a", "b"], ["b"]]).numbers.tolist(), numbered([["a", None]])
    ([0, 1, 1], None)
    """
    if isinstance(lists, StringLists):
        return lists.numbered
    read = _core.numbered_strings(lists) if type(lists) is list else None
    return None if read is None else NumberedStrings(*read)


def digests(array: NDArray[Any]) -> NDArray[np.uint64]:
    """64-bit digests of the bytes of an array, piece by piece: what a digest of it may be made of.

    >>> np.array_equal(digests(np.arange(5)), digests(np.arange(5)))
    True
    """
    found: NDArray[np.uint64] = _core.digests(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return found


def spelled(names: list[Any], numbers: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.object_]:
    """The reverse of ``numbered``, as an array of lists.

    >>> spelled(["a", "b"], np.array([0, 1, 1], np.int32), np.array([0, 2, 3])).tolist()
    [['a', 'b'], ['b']]
    """
    out = np.empty(len(offsets) - 1, object)
    numbers, offsets = np.ascontiguousarray(numbers, np.int32), np.ascontiguousarray(offsets, np.int64)
    _core.spell_lists(names, numbers, offsets, out)
    return out
