"""Python objects of every kind, as someone may hand them over for features; drawn from a source of numbers.

``Draw`` asks for whole numbers only, so that a random generator and a fuzzer's bytes serve alike.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

Number = Callable[[int], int]  # n -> 0 .. n - 1
STRINGS = ["", "w", "é", "日本", "\ud800", "a:b", ":", "\x00", "x" * 300, "\U0001f600", "w=the", "1", " "]
SCALARS: list[Any] = [None, True, False, 0, 1, -1, 2**63, -(2**64), 10**400, 0.0, -0.0, 0.5, 1e308, 1e-320]
SCALARS += [
    float("nan"),
    float("inf"),
    1j,
    b"x",
    b"\xff",
    bytearray(b"y"),
    Ellipsis,
    NotImplemented,
    object(),
    int,
]
SCALARS += [
    np.float32(0.5),
    np.float64("nan"),
    np.int8(-3),
    np.bool_(True),
    np.str_("s"),
    np.datetime64("2020-01-01"),
]
SCALARS += [
    Decimal("1.5"),
    Decimal("sNaN"),
    Fraction(1, 3),
    range(3),
    slice(1),
    memoryview(b"z"),
    np.zeros(()),
    np.ones(1),
]


class Broken:
    """Raises whatever it is asked."""

    def __float__(self) -> float:
        raise ZeroDivisionError("broken")

    def __iter__(self) -> Any:
        raise ZeroDivisionError("broken")

    def __len__(self) -> int:
        return -1


class Fresh(tuple[Any, ...]):
    """A tuple that makes its elements when it is read."""

    def __iter__(self) -> Any:
        return (f"fresh {i}" * 9 for i in range(20))


class Vanishing:
    """A number that takes away what holds it while it is read."""

    def __init__(self, *holders: Any) -> None:
        self.holders = holders

    def __float__(self) -> float:
        for holder in self.holders:
            holder.clear()
        return 2.0


class Draw:
    """Objects, as deep as ``depth`` lets them be."""

    def __init__(self, number: Number) -> None:
        self.number = number

    def _one_of(self, choices: Any) -> Any:
        return choices[self.number(len(choices))]

    def string(self) -> str:
        return str(self._one_of(STRINGS)) + (str(self.number(50)) if self.number(2) else "")

    def many(self, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(self.number(5))]

    def thing(self, depth: int = 4) -> Any:
        """Anything at all."""
        kinds: list[Callable[[], Any]] = [self.string, lambda: self._one_of(SCALARS)]
        if depth > 0:
            inner = lambda: self.thing(depth - 1)  # noqa: E731
            kinds += [
                lambda: self.many(inner),
                lambda: tuple(self.many(inner)),
                lambda: {self._key(): inner() for _ in range(self.number(4))},
                lambda: self._one_of((set, frozenset, Fresh))(self.many(self.string)),
                lambda: (x for x in self.many(inner)),
                lambda: self._one_of((Broken(), self.matrix(), np.array(self.many(self.string), object))),
                self.cycle,
            ]
        return self._one_of(kinds)()

    def _key(self) -> Any:
        return self.string() if self.number(8) else self._one_of([s for s in SCALARS if _hashable(s)])

    def cycle(self) -> Any:
        """A dict or list that holds itself, or is emptied while it is read."""
        d: dict[str, Any] = {}
        items: list[Any] = [d, ["y" * 50] * 3]
        match self.number(4):
            case 0:
                d["self"] = d
            case 1:
                items.append(items)
            case 2:
                d |= {"a" * 50: Vanishing(d, items), "b": "x" * 100}
            case _:
                for _ in range(self.number(2000)):
                    d = {"deeper": d}
        return self._one_of((d, items))

    def matrix(self) -> Any:
        shape = tuple(self.number(4) for _ in range(self._one_of((2, 2, 2, 2, 1, 3, 0))))
        kind = self._one_of(("f8", "f4", "i8", "u1", "?", "c16", "U3", "O", "M8[s]", "f8"))
        array = np.zeros(shape, kind)
        if array.dtype.kind == "f" and array.size and self.number(2):
            array.reshape(-1)[0] = self._one_of((1.0, np.nan, np.inf, -2.5))
        if len(shape) == 2 and array.dtype.kind in "fi" and self.number(3) == 0:
            return self._one_of((scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array))(
                array
            )
        return array

    def sequences(self) -> Any:
        """X: mostly lists of lists of things that may be items, at times something else."""
        match self.number(8):
            case 0:
                return self.thing()
            case 1:
                return self.many(self.matrix)
            case 2:
                return self.many(self.thing)
            case _:
                return self.many(lambda: self.many(lambda: self.thing(2)))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True
