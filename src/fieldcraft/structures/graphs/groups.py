"""Factor groups: factors of one shape as two arrays, ``scope`` [K, arity] and ``table`` [K, cells]."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError

Floats = NDArray[np.float64]
MOST_CELLS = 2**40


class Group(NamedTuple):
    """K factors of one shape; ``table`` [K, cells] has log-potentials, the last variable runs fastest."""

    scope: NDArray[np.int32]  # [K, arity]
    table: Floats  # [K, cells]
    shape: tuple[int, ...]  # states of the variables of a scope

    def tables(self) -> Floats:
        """The table with one axis per variable: [K, states of the first, ...]."""
        return self.table.reshape(len(self.scope), *self.shape)


def checked_cardinalities(given: ArrayLike) -> NDArray[np.int32]:
    """[n] numbers of states, each at least 1."""
    numbers = _whole(given, "cardinalities")
    if numbers.ndim != 1:
        raise InputError(f"cardinalities must be one number per variable, got shape {numbers.shape}")
    if numbers.size and numbers.min() < 1:
        v = int(np.argmin(numbers))
        raise InputError(f"variable {v} has {numbers[v]} states; it needs at least 1")
    return numbers


def checked_scope(given: ArrayLike, cardinalities: NDArray[np.int32]) -> NDArray[np.int32]:
    """[K, arity] variables; a list of variables is one factor."""
    scope = _whole(given, "scope")
    scope = scope[None] if scope.ndim == 1 else scope
    if scope.ndim != 2:
        raise InputError(f"scope has shape {scope.shape}; expected [factors, variables of a factor]")
    wrong = (scope < 0) | (scope >= len(cardinalities))
    if wrong.any():
        k, slot = np.argwhere(wrong)[0]
        raise InputError(
            f"factor {k} of the group names variable {scope[k, slot]}; "
            f"there are {len(cardinalities)}, numbered from 0"
        )
    ordered = np.sort(scope, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        k = int(np.argmax(twice))
        raise InputError(f"factor {k} of the group names a variable twice: {scope[k].tolist()}")
    return scope


def shape_of(scope: NDArray[np.int32], cardinalities: NDArray[np.int32]) -> tuple[int, ...]:
    """States of the variables of a group's factors, which must be the same for all of them."""
    if not len(scope):
        raise InputError("scope names no factor; give at least one")
    sizes = cardinalities[scope]
    other = (sizes != sizes[0]).any(axis=1)
    if other.any():
        k = int(np.argmax(other))
        raise InputError(
            f"factor {k} of the group has variables with {sizes[k].tolist()} states, the first one "
            f"{sizes[0].tolist()}; add factors of another shape as another group"
        )
    shape = tuple(int(size) for size in sizes[0])
    if prod(shape) > MOST_CELLS:
        raise InputError(f"a factor over variables with {list(shape)} states has more than 2^40 entries")
    return shape


def checked_table(given: ArrayLike, n: int, shape: tuple[int, ...]) -> Floats:
    """[K, cells] log-potentials, finite or -inf; one table may serve all factors of the group."""
    try:
        table = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"table must be numbers: {error}") from None
    cells = prod(shape)
    if table.shape == shape:
        table = np.broadcast_to(table.reshape(1, cells), (n, cells))
    elif table.shape not in ((n, cells), (n, *shape)):
        raise InputError(
            f"table has shape {table.shape}; expected {(n, *shape)}, {(n, cells)}, or {shape} for all factors"
        )
    table = np.array(table.reshape(n, cells))
    check_potentials(table, "table")
    return table


def check_potentials(table: Floats, name: str) -> None:
    """InputError at the first entry that is NaN or +inf."""
    wrong = ~(table < np.inf)
    if wrong.any():
        at = np.argwhere(wrong)[0]
        raise InputError(
            f"{name} contains {table[tuple(at)]} at {at.tolist()}; log-potentials must be finite, "
            "or -inf to forbid"
        )


def _whole(given: Any, name: str) -> NDArray[np.int32]:
    try:
        array = np.asarray(given)
        numbers = np.array(array, np.int32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be whole numbers: {error}") from None
    if array.size and (array.dtype.kind not in "iuf" or not np.array_equal(numbers, array)):
        raise InputError(f"{name} must be whole numbers below 2^31; some are not")
    return numbers
