"""Arrays of different lengths, stored one after the other: [all values], and [n + 1] where each begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def joined(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    """All values."""
    return np.concatenate([*parts, np.empty(0, kind)]).astype(kind, copy=False)


def ends(parts: Sequence[Any]) -> NDArray[np.int64]:
    """[n + 1] where each part begins; the last number is the length of all."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def split(array: NDArray[Any], ptr: NDArray[np.int64]) -> list[NDArray[Any]]:
    """The parts again, as views."""
    return [array[a:b] for a, b in zip(ptr[:-1], ptr[1:])]


def ranges(begin: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """begin[0], begin[0] + 1 …, begin[1] …: all numbers of several ranges."""
    starts = np.cumsum(length) - length
    numbers: NDArray[np.int64] = np.arange(length.sum()) + np.repeat(begin - starts, length)
    return numbers
