"""State spaces of a chain: what the chain runs over, and what each state means as a label.

S states, E transitions (source -> target, sorted), states in which a sequence may start and stop, the
label of each state. Plain labels: every state its own label, every transition allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError


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
    """

    n_states: int
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    starts: NDArray[np.bool_]
    stops: NDArray[np.bool_]
    label_of: NDArray[np.int32]
    names: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("sources", "targets", "label_of"):
            put(self, name, np.ascontiguousarray(getattr(self, name), np.int32))
        for name in ("starts", "stops"):
            put(self, name, np.ascontiguousarray(getattr(self, name), bool))
        self._check()

    def _check(self) -> None:
        S = self.n_states
        if not 1 <= S <= 65535:
            raise InputError(f"a chain needs between 1 and 65535 states, got {S}")
        for name in ("starts", "stops", "label_of"):
            length = len(getattr(self, name))
            if length != S:
                raise InputError(f"{name} has {length} entries for {S} states")
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
        states = np.arange(S, dtype=np.int32)
        return cls(
            S,
            np.repeat(states, S),
            np.tile(states, S),
            np.ones(S, bool),
            np.ones(S, bool),
            states,
            () if isinstance(names, int) else tuple(names),
        )

    @property
    def n_transitions(self) -> int:
        return len(self.sources)

    @property
    def is_complete(self) -> bool:
        """Are all S * S transitions allowed."""
        return self.n_transitions == self.n_states**2

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """[E] where each transition stands in the flattened [S, S] matrix."""
        return self.sources.astype(np.int64) * self.n_states + self.targets
