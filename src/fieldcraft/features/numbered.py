"""Lists of strings as numbers, in one pass of the core."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core


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
    read = _core.numbered_strings(lists) if type(lists) is list else None
    return None if read is None else NumberedStrings(*read)


def spelled(names: list[Any], numbers: NDArray[np.int32], offsets: NDArray[np.int64]) -> list[list[Any]]:
    """The reverse of ``numbered``.

    >>> spelled(["a", "b"], np.array([0, 1, 1], np.int32), np.array([0, 2, 3]))
    [['a', 'b'], ['b']]
    """
    return _core.spelled_lists(
        names, np.ascontiguousarray(numbers, np.int32), np.ascontiguousarray(offsets, np.int64)
    )
