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
from fieldcraft.design import native_columns, native_tokens
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex

Floats = NDArray[np.float64]


class ChainWeights:
    """A feature index with its weights, laid out for scoring; threads may share it."""

    def __init__(
        self,
        index: FeatureIndex,
        weights: Floats,
        n_states: int,
        *,
        n_jobs: int = 1,
    ) -> None:
        frequency = np.zeros(index.n_attributes, np.int64)  # [A] frequent rows are kept together
        observed = index.attribute >= 0
        frequency[index.attribute[observed]] = index.family[observed]
        self._model = _core.chain_model(
            native_columns(index), n_states, frequency, np.ascontiguousarray(weights), n_jobs
        )

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
