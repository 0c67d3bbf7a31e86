"""Pools per position: the members' distributions over the labels of each token are pooled.

    logarithmic   p(y_t | x) = product over i of p_i(y_t | x)^v_i / Z_t(x)
    linear        p(y_t | x) = sum over i of v_i p_i(y_t | x)

where p_i(y_t | x) are the members' marginals; the positions are independent of one another. That is a chain
whose node potentials are log p(y_t | x) and whose edges are 0: all answers come from the structure, as for
any chain. A linear pool per position has the marginals of the linear pool per sequence, but not its
distribution over labellings. Hazard: a pool per position may join labels that no member would, e.g. I-PER
after B-LOC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.encoded import Encoded
from fieldcraft.potentials import Parts
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]


def log_marginals(scorer: Any, structure: LinearChain, encoded: Encoded) -> Floats:
    """[tokens, Y] log p(y_t | x) of one model."""
    logs = structure.log_marginals(scorer.potentials(encoded))
    out = np.empty((len(logs), len(structure.labels)))
    out[:, structure.label_of] = logs  # one state per label
    return out


def pooled(logs: Sequence[Floats], weights: Floats, *, linear: bool) -> Floats:
    """[tokens, Y] log p(y_t | x) of the pool, from those of its members."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if linear:
            node = np.log(sum(v * np.exp(log_p) for v, log_p in zip(weights, logs)))
        else:
            node = sum(np.where(v == 0.0, 0.0, v * log_p) for v, log_p in zip(weights, logs))
    return np.asarray(node - log_sum(node)[:, None])


def log_sum(rows: Floats) -> Floats:
    """[tokens] log of the sum of exp over each row."""
    top = rows.max(axis=1, initial=-np.inf)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(np.exp(rows - finite[:, None]).sum(axis=1)))


class PositionScorer:
    """Potentials of a pool per position.

    Parameters
    ----------
    scorers : of the members
    structure : the members' chain
    weights : [n]
    linear : pool probabilities instead of their logarithms
    """

    def __init__(self, scorers: Sequence[Any], structure: Any, weights: Floats, *, linear: bool) -> None:
        self.scorers, self.structure, self.weights, self.linear = scorers, structure, weights, linear

    def potentials(self, encoded: Encoded) -> Parts:
        """The potentials of a batch, over plain labels."""
        logs = [log_marginals(scorer, self.structure, encoded) for scorer in self.scorers]
        node = pooled(logs, self.weights, linear=self.linear)
        return LinearChain.potentials(node, np.zeros(node.shape[1] ** 2), encoded.offsets)


def plain_chain(structure: LinearChain) -> LinearChain:
    """The chain over plain labels in which the positions' labels are independent."""
    return LinearChain(StateSpace.labels(structure.labels), n_jobs=structure.n_jobs)
