"""Arrays that a caller gives as potentials: checked, and converted to what the core takes.

Floating-point arrays are read in place where that is possible. The core copies whole numbers before it checks
them and uses them as indices, so that another thread may write to the caller's array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.potentials import check_matrices
from fieldcraft.structures.states import StateSpace


class Held:
    """Checked arrays as the core's potentials; a core's complaint becomes an InputError."""

    def __init__(self, node: ArrayLike, edge: ArrayLike, offsets: ArrayLike, states: StateSpace) -> None:
        self.node = np.ascontiguousarray(node, np.float64)
        S, E = states.n_states, states.n_transitions
        check_matrices("arrays", S)
        if self.node.ndim != 2 or self.node.shape[1] != S:
            raise InputError(f"node potentials have shape {self.node.shape}; expected [tokens, {S}]")
        given = np.ascontiguousarray(edge, np.float64)
        per_token = given.ndim == 2
        expected = (len(self.node), E) if per_token else (E,)
        if given.shape != expected:
            raise InputError(f"edge potentials have shape {given.shape}; expected {expected}")
        if not states.is_complete:
            full = np.full((*given.shape[:-1], S * S), -np.inf)
            full[..., states.cells] = given
            given = full
        self.edge = given.reshape(-1)
        self.offsets = whole_numbers(offsets, np.int64, "offsets")
        arguments: tuple[Any, ...] = (
            self.offsets,
            np.ascontiguousarray(states.starts, np.uint8),
            np.ascontiguousarray(states.stops, np.uint8),
        )
        try:
            self.potentials = _core.array_potentials(self.node, self.edge, per_token, *arguments)
        except ValueError as error:
            raise InputError(str(error)) from None

    def __enter__(self) -> Held:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError) and not isinstance(error, InputError):
            raise InputError(str(error)) from None


def whole_numbers(given: ArrayLike, kind: type[Any], name: str) -> NDArray[Any]:
    """Whole numbers as a contiguous array of a type; InputError where one of them does not fit it."""
    try:
        whole = np.asarray(given)
        with np.errstate(invalid="ignore"):
            array = np.ascontiguousarray(whole, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be whole numbers of {kind.__name__}: {error}") from None
    if whole.dtype != array.dtype and not np.array_equal(array, whole):
        raise InputError(f"{name} must be whole numbers that fit {kind.__name__}; some do not")
    return array
