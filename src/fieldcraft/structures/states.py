"""State spaces of a chain: what the chain runs over, and what each state means as a label.

S states, E transitions (source -> target, sorted), states in which a sequence may start and stop, the
label of each state. Plain labels: every state its own label, every transition allowed.

Weights belong to classes: states of one node class share the weights of node features, transitions of one
edge class those of edge features. The feature index names a class by its label configuration: the number of a
node class, and for an edge class the pair (source, target) of its first transition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError


def _absent() -> Any:
    return None


@dataclass(frozen=True, eq=False)
class StateSpace:
    """States, transitions, starts, stops and labels of a chain.

    Parameters
    ----------
    n_states : S
    sources, targets : int32 [E], sorted by source, then target
    starts, stops : bool [S]
    label_of : int32 [S] number of each state's label
    names : names of the labels, where known
    node_class : int32 [S] which states share weights; None for none
    edge_class : int32 [E] which transitions share weights; None for none
    """

    n_states: int
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    starts: NDArray[np.bool_]
    stops: NDArray[np.bool_]
    label_of: NDArray[np.int32]
    names: tuple[str, ...] = field(default=())
    node_class: NDArray[np.int32] = None  # type: ignore[assignment]
    edge_class: NDArray[np.int32] = field(default_factory=_absent)  # no class attribute: see __getattr__

    def __getattr__(self, name: str) -> NDArray[np.int32]:
        """The S * S transitions of plain labels, which are made when someone asks for them."""
        if name not in ("sources", "targets", "edge_class") or "n_states" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        S, states = self.n_states, self.label_of
        make: dict[str, Callable[[], NDArray[np.int32]]] = {
            "sources": lambda: np.repeat(states, S),
            "targets": lambda: np.tile(states, S),
            "edge_class": lambda: np.arange(S * S, dtype=np.int32),
        }
        made = make[name]()  # [E]
        object.__setattr__(self, name, made)
        return made

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, n in (("node_class", self.n_states), ("edge_class", len(self.sources))):
            if getattr(self, name) is None:
                put(self, name, np.arange(n))
        for name in ("sources", "targets", "label_of", "node_class", "edge_class"):
            put(self, name, np.ascontiguousarray(getattr(self, name), np.int32))
        for name in ("starts", "stops"):
            put(self, name, np.ascontiguousarray(getattr(self, name), bool))
        self._check()

    def _check(self) -> None:
        S = self.n_states
        _check_size(S)
        for name in ("starts", "stops", "label_of", "node_class"):
            length = len(getattr(self, name))
            if length != S:
                raise InputError(f"{name} has {length} entries for {S} states")
        for name in ("targets", "edge_class"):
            if len(getattr(self, name)) != len(self.sources):
                raise InputError(
                    f"{name} has {len(getattr(self, name))} entries, sources {len(self.sources)}"
                )
        for name in ("node_class", "edge_class"):
            classes = getattr(self, name)
            inside = not len(classes) or (classes.min() >= 0 and classes.max() < len(classes))
            if not inside or not np.all(np.bincount(classes)):
                raise InputError(f"{name} must use every number from 0 up to its largest")
        codes = self.cells
        inside = codes.size == 0 or (
            np.min(self.sources) >= 0
            and np.min(self.targets) >= 0
            and np.max(self.sources) < S
            and np.max(self.targets) < S
        )
        if not inside or np.any(np.diff(codes) <= 0):
            raise InputError("transitions must lie within the states, sorted by source, then target")

    @classmethod
    def labels(cls, names: Sequence[str] | int) -> StateSpace:
        """One state per label, all transitions allowed."""
        S = names if isinstance(names, int) else len(names)
        _check_size(S)
        states, ones = np.arange(S, dtype=np.int32), np.ones(S, bool)
        columns = {"label_of": states, "node_class": states, "starts": ones, "stops": ones}
        space = cls.__new__(cls)  # without transitions: __getattr__ makes them
        vars(space).update(columns, n_states=S, names=() if isinstance(names, int) else tuple(names))
        return space

    @property
    def n_transitions(self) -> int:
        return len(self.sources) if "sources" in vars(self) else self.n_states**2

    @property
    def is_plain(self) -> bool:
        """Is every state a label of its own, with weights of its own, and everything allowed."""
        return "edge_class" not in vars(self) or (
            self.is_complete
            and bool(np.all(self.starts) and np.all(self.stops))
            and all(
                np.array_equal(column, np.arange(len(column)))
                for column in (self.label_of, self.node_class, self.edge_class)
            )
        )

    @cached_property
    def node_labels(self) -> NDArray[np.int32]:
        """[node classes, 1] the label configuration of each node class."""
        return np.unique(self.node_class).astype(np.int32)[:, None]

    @cached_property
    def edge_labels(self) -> NDArray[np.int32]:
        """[edge classes, 2] the label configuration of each edge class: its first transition's states."""
        _, first = np.unique(self.edge_class, return_index=True)
        return np.stack([self.sources[first], self.targets[first]], axis=1)

    @property
    def is_complete(self) -> bool:
        """Are all S * S transitions allowed."""
        return self.n_transitions == self.n_states**2

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """[E] where each transition stands in the flattened [S, S] matrix."""
        return self.sources.astype(np.int64) * self.n_states + self.targets


def _check_size(n_states: int) -> None:
    if not 1 <= n_states <= 65535:
        raise InputError(f"a chain needs between 1 and 65535 states, got {n_states}")
