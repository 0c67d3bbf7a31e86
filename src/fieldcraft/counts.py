"""Whole numbers that users give: how many labellings, samples, threads, occurrences."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from fieldcraft.errors import InputError

LARGEST = 2**31 - 1  # the core counts with 32 bits


def whole_number(value: Any, name: str, least: int, what: str = "it") -> int:
    """The value of a parameter as int; InputError unless it is a whole number in ``least`` .. 2^31 - 1.

    >>> whole_number(3, "k", 1)
    3
    """
    if not isinstance(value, Integral) or not least <= int(value) <= LARGEST:
        raise InputError(
            f"{name} is {value!r}; {what} must be a whole number, at least {least} and at most 2^31 - 1"
        )
    return int(value)
