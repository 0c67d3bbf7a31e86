"""Negative conditional log-likelihood: log Z(x) - score(x, y), summed over sequences.

Its gradient in the potentials is marginals - indicator(gold). ``value_and_gradient`` is that statement
on a block of sequences; training uses the fused native twin (``native = True``), and a law holds the
two together to 1e-10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]


class PotentialGradient(NamedTuple):
    """Loss per sequence [N] and its gradient: node [tokens, S], edge [tokens, E]."""

    value: Floats
    node: Floats
    edge: Floats


@dataclass(frozen=True)
class Likelihood:
    """Penalised maximum likelihood: the default objective."""

    name: ClassVar[str] = "likelihood"
    native: ClassVar[bool] = True

    def value_and_gradient(
        self,
        states: StateSpace,
        node: Floats,
        edge: Floats,
        offsets: NDArray[np.int64],
        gold: NDArray[np.int32],
        sequence_weights: Floats | None = None,
    ) -> PotentialGradient:
        """Loss and gradient in potential space for a block of chains."""
        found = chain.marginals(node, edge, offsets, states)
        value = found.log_partition - chain.score(node, edge, offsets, states, gold)
        node_gradient, edge_gradient = found.node.copy(), found.edge.copy()
        tokens = np.arange(len(gold))
        node_gradient[tokens, gold] -= 1.0
        later = np.ones(len(gold), bool)
        later[offsets[:-1][np.diff(offsets) > 0]] = False  # positions with a step into them
        at = np.flatnonzero(later)
        cells = gold[at - 1].astype(np.int64) * states.n_states + gold[at]
        edge_gradient[at, np.searchsorted(states.cells, cells)] -= 1.0
        if sequence_weights is None:
            return PotentialGradient(value, node_gradient, edge_gradient)
        per_token = np.repeat(sequence_weights, np.diff(offsets))[:, None]
        return PotentialGradient(
            value * sequence_weights, node_gradient * per_token, edge_gradient * per_token
        )
