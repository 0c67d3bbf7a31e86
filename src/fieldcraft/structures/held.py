"""Arrays that a caller gives as potentials: checked, and converted to what the core takes.

Floating-point arrays are read in place where that is possible. The core copies whole numbers before it checks
them and uses them as indices, so that another thread may write to the caller's array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError, input_error
from fieldcraft.potentials import check_matrices
from fieldcraft.structures.states import StateSpace

FEW_STATES = 16  # up to so many, dense matrices are quicker
LARGE_SCORE = 1e280  # beyond, sums may overflow, which the dense recursions know how to avoid


class Held:
    """Checked arrays as the core's potentials; a core's complaint becomes an InputError.

    State spaces with few transitions have potentials of their own kind, unless ``dense`` asks for the
    matrices that some operations need; ``sparse`` asks for a list of any number of transitions.
    """

    potentials: Any

    def __init__(
        self,
        node: ArrayLike,
        edge: ArrayLike,
        offsets: ArrayLike,
        states: StateSpace,
        *,
        dense: bool = False,
        sparse: bool = False,
        graph: Any = None,
    ) -> None:
        check_states(states)
        self.node = real_numbers(node, "node potentials")
        S, E = states.n_states, states.n_transitions
        if self.node.ndim != 2 or self.node.shape[1] != S:
            raise InputError(f"node potentials have shape {self.node.shape}; expected [tokens, {S}]")
        given = real_numbers(edge, "edge potentials")
        per_token = given.ndim == 2
        expected = (len(self.node), E) if per_token else (E,)
        if given.shape != expected:
            raise InputError(f"edge potentials have shape {given.shape}; expected {expected}")
        self.offsets = whole_numbers(offsets, np.int64, "offsets")
        if not dense and (sparse or is_sparse(states)) and _moderate(self.node) and _moderate(given):
            self.edge = given.reshape(-1)
            graph = states.graph(own_classes=True) if graph is None else graph
            try:
                self.potentials = _core.state_arrays(graph, self.node, self.edge, per_token, self.offsets)
            except ValueError as error:
                raise InputError(str(error)) from None
            return
        check_matrices("arrays", S)
        if not states.is_complete:
            full = np.full((*given.shape[:-1], S * S), -np.inf)
            full[..., states.cells] = given
            given = full
        self.edge = given.reshape(-1)
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
            raise input_error(error) from None


def is_sparse(states: StateSpace) -> bool:
    """Whether a space has so few transitions that they are better kept as a list than as a matrix."""
    return states.n_states > FEW_STATES and 4 * states.n_transitions <= states.n_states**2


def _moderate(scores: NDArray[np.float64]) -> bool:
    """Whether sums of these scores cannot overflow; not a number counts as moderate and is refused later."""
    top = np.max(np.abs(scores), initial=0.0, where=np.isfinite(scores))
    return bool(top * (2.0 * len(scores) + 2) < LARGE_SCORE)


def check_states(states: StateSpace) -> None:
    """InputError if it is no state space."""
    if not isinstance(states, StateSpace):
        raise InputError(
            f"states is a {type(states).__name__}; it must be a StateSpace: StateSpace.labels(3) has 3 labels"
        )


def real_numbers(given: ArrayLike, name: str) -> NDArray[np.float64]:
    """A contiguous array of float64, in place where it is one; InputError where there are no real numbers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO" or given is None:
            raise TypeError(f"an array of type {array.dtype} was given")
        return np.ascontiguousarray(array, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}") from None


def flags(given: ArrayLike, n_states: int, name: str) -> NDArray[np.uint8]:
    """[positions, S] zeros and ones as a contiguous array; InputError where they are something else."""
    array = real_numbers(given, name) != 0.0
    if array.ndim != 2 or array.shape[1] != n_states:
        raise InputError(f"{name} has shape {array.shape}; expected [positions, {n_states}]")
    return np.ascontiguousarray(array, np.uint8)


def state_numbers(given: ArrayLike, offsets: ArrayLike, states: StateSpace) -> NDArray[np.int64]:
    """[tokens] numbers of states; InputError where one is none of them or their number is another."""
    check_states(states)
    labels, ends = whole_numbers(given, np.int64, "labels"), whole_numbers(offsets, np.int64, "offsets")
    n = int(ends[-1]) if len(ends) else 0
    if len(labels) != n:
        raise InputError(f"labels have shape {labels.shape}, expected ({n},): one label per token is needed")
    if n and not 0 <= labels.min() <= labels.max() < states.n_states:
        raise InputError(f"labels must be in 0 .. {states.n_states - 1}; some are not")
    return labels


def whole_numbers(given: ArrayLike, kind: type[Any], name: str) -> NDArray[Any]:
    """[n] whole numbers as a contiguous array of a type; InputError where one of them does not fit it."""
    try:
        whole = np.asarray(given)
        with np.errstate(invalid="ignore"):
            array = np.ascontiguousarray(whole, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be whole numbers of {kind.__name__}: {error}") from None
    if whole.ndim != 1:
        raise InputError(f"{name} must be a list of whole numbers, got an array of shape {whole.shape}")
    if whole.dtype != array.dtype and not np.array_equal(array, whole):
        raise InputError(f"{name} must be whole numbers that fit {kind.__name__}; some do not")
    return array
