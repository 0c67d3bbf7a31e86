"""Amounts of memory as people write them."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.memory import available_bytes

LOOK = 2.0**30  # beyond it the system is asked what it has
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def budget(given: Any) -> float:
    """Bytes that a junction tree may take: the amount, or what the system has left where that is less."""
    wanted = read_bytes(given)
    available = available_bytes() if wanted > LOOK else None
    return wanted if available is None else min(wanted, float(available))


def read_bytes(given: Any) -> float:
    """Bytes of an amount: a number, or a number with a unit.

    >>> read_bytes("1GiB"), read_bytes(512)
    (1073741824.0, 512.0)
    """
    if isinstance(given, Real) and not isinstance(given, bool) and float(given) > 0:
        return float(given)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", given) if isinstance(given, str) else None
    if found is None or found[2].lower() not in UNITS or float(found[1]) <= 0:
        raise InputError(f"memory is {given!r}; write a number of bytes, or like '500MB' or '1GiB'")
    return float(found[1]) * UNITS[found[2].lower()]
