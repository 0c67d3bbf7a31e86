"""sklearn-crfsuite's module of this name, which programs import ``flatten`` from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def flatten(y: Iterable[Iterable[T]]) -> list[T]:
    """The elements of all lists in one list.

    >>> flatten([["A", "B"], ["A"]])
    ['A', 'B', 'A']
    """
    return list(chain.from_iterable(y))


__all__ = ["flatten"]
