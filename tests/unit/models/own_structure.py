"""A structure of one's own, as docs/how-to/structures.md has it: every position on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.kinds import register_kind
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure, by_sequence

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Independent(Structure):
    """No label depends on another."""

    name: ClassVar[str] = "independent"
    parts: ClassVar[tuple[str, ...]] = ("node",)

    def log_partition(self, potentials: Any) -> Floats:
        return by_sequence(self._log_sums(potentials["node"]), potentials.offsets)

    def marginals(self, potentials: Any) -> Parts:
        node = potentials["node"]
        return Parts({"node": np.exp(node - self._log_sums(node)[:, None])}, potentials.offsets)

    def argmax(self, potentials: Any) -> tuple[Ints, Floats]:
        best = potentials["node"].argmax(axis=1).astype(np.int32)
        return best, self.score(potentials, best)

    def score(self, potentials: Any, states: Ints) -> Floats:
        return by_sequence(potentials["node"][np.arange(len(states)), states], potentials.offsets)

    def indicator(self, states: Ints, offsets: NDArray[np.int64]) -> Parts:
        return Parts({"node": np.eye(self.n_states)[states]}, offsets)

    def _log_sums(self, node: Floats) -> Floats:
        top = node.max(axis=1, initial=-np.inf)
        sums: Floats = top + np.log(np.exp(node - top[:, None]).sum(axis=1))
        return sums


class IndependentCRF(SequenceModel):
    """A model of independent positions."""

    def structure_for(self, labels: Sequence[str]) -> Independent:
        return Independent(labels)


register_kind("independent-in-tests", IndependentCRF)
