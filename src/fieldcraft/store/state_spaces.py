"""State spaces in model files: one array for each column of a ``StateSpace``.

    sources, targets, edge_class  int32 [E]      label_of, node_class  int32 [S]      starts, stops  uint8 [S]
    tuple_class  int32 [L, E], if there is any

Every number of a file is checked, since it may be damaged or hostile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.stored import as_stored
from fieldcraft.structures.states import StateSpace

NUMBERS = ("sources", "targets", "edge_class", "label_of", "node_class")
FLAGS = ("starts", "stops")


def pack_states(states: StateSpace) -> dict[str, NDArray[Any]]:
    """The arrays of a state space; the names of its labels are those of the model."""
    numbers = {name: getattr(states, name) for name in NUMBERS}
    if len(states.tuple_class):
        numbers["tuple_class"] = states.tuple_class
    return {**numbers, **{name: getattr(states, name).astype(np.uint8) for name in FLAGS}}


def unpack_states(arrays: Mapping[str, NDArray[Any]], labels: Sequence[str]) -> StateSpace:
    """The state space that ``pack_states`` stored; ValueError or InputError if a number does not fit."""
    numbers = {name: as_stored(arrays, name, np.int32) for name in NUMBERS}
    flags = {name: as_stored(arrays, name, np.uint8) for name in FLAGS}
    if any(flag.max(initial=0) > 1 for flag in flags.values()):
        raise ValueError("states: starts and stops must be 0 or 1")
    label_of = numbers["label_of"]
    if label_of.min(initial=0) < 0 or label_of.max(initial=0) >= len(labels):
        raise ValueError(f"states.label_of: a state has none of the {len(labels)} labels")
    flags = {name: flag.astype(bool) for name, flag in flags.items()}
    if "tuple_class" in arrays:
        numbers["tuple_class"] = as_stored(arrays, "tuple_class", np.int32, ndim=2)
    return StateSpace(n_states=len(label_of), **numbers, **flags, names=tuple(labels))
