"""Weights -> potentials: the linear map that every model here is.

    node[t, y]        = sum of value * weight over the token's features with label y
    edge[t, y', y]    = weight of (y', y)  +  the same over its features with the pair (y', y)

The adjoint (gradient in potentials -> gradient in weights) is fused into training natively; here is
the readable one, used by the laws that hold the two together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import native_tokens
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.packed import PackedIndex

Floats = NDArray[np.float64]


class ChainWeights:
    """A packed feature index with its weights, ready for scoring; threads may share it.

    ``weights`` stand in the order of the packed index and are looked at, not copied.
    """

    def __init__(self, packed: PackedIndex, weights: Floats) -> None:
        self._model = _core.chain_model(packed.n_states, **packed.numbers, **packed.arrays, weights=weights)

    @classmethod
    def of(cls, index: FeatureIndex, weights: Floats, n_states: int) -> ChainWeights:
        """From an index and weights in its order."""
        packed = PackedIndex.of(index, n_states)
        return cls(packed, packed.places(np.ascontiguousarray(weights, np.float64)))

    @property
    def looks_at_edges(self) -> bool:
        """Do some edge potentials depend on the input."""
        return bool(self._model.looks_at_edges)

    def apply(self, encoded: Encoded) -> Any:
        """The potentials of a batch, as the core's handle: computed sequence by sequence."""
        return _core.model_potentials(self._model, native_tokens(encoded))

    def arrays(self, encoded: Encoded) -> tuple[Floats, Floats]:
        """The same as arrays: node [tokens, S], edge [S * S] or [tokens, S * S]."""
        handle = self.apply(encoded)
        edge = _core.edge_scores(handle, self.looks_at_edges)
        return _core.node_scores(handle), edge if self.looks_at_edges else edge[0]


def adjoint(index: FeatureIndex, encoded: Encoded, node: Floats, edge: Floats, n_states: int) -> Floats:
    """Gradient [F] in the weights from gradients in the potentials.

    ``node`` [tokens, S] and ``edge`` [tokens, S * S] (first positions 0).
    """
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    token_of = np.repeat(np.arange(len(encoded.token_ptr) - 1), np.diff(encoded.token_ptr))
    gradient = np.zeros(len(index))
    totals = edge.sum(axis=0)
    for f in range(len(index)):
        a, x, y = index.attribute[f], index.previous[f], index.label[f]
        if a < 0:
            gradient[f] = totals[x * n_states + y]
            continue
        held = encoded.attributes == a
        part = node[:, y] if x < 0 else edge[:, x * n_states + y]
        gradient[f] = np.dot(values[held], part[token_of[held]])
    return gradient
