"""Pseudo-likelihood: each label given its neighbours' gold labels.

    loss = sum over t of - log p(y_t | y_{t-1}, y_{t+1}, x)

Only soft maxima over the labels of one position: no recursion, time T S instead of T S^2, and consistent in
the limit of much data. It trusts neighbours that are not known when the model is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, weight_of
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure, by_sequence


@dataclass(frozen=True)
class PseudoLikelihood(Objective):
    """Minus the sum of the log-probabilities of each token's label given the labels beside it.

    >>> import numpy as np
    >>> from fieldcraft.structures.states import StateSpace
    >>> node, edge = np.zeros((3, 2)), np.zeros(4)
    >>> gold = np.array([0, 1, 0])
    >>> PseudoLikelihood().value_and_gradient(StateSpace.labels(2), node, edge, [0, 3], gold).value.round(6)
    array([2.079442])
    """

    name: ClassVar[str] = "pseudo_likelihood"
    weighs_labels: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("neighbour_scores", "neighbour_adjoint")

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        scores = structure.operation("neighbour_scores")(potentials, gold)  # [tokens, S]
        at = np.arange(len(gold)), gold
        top = np.max(scores, axis=1, initial=-np.inf)
        odds = np.exp(scores - top[:, None])
        total = odds.sum(axis=1)
        weights = weight_of(label_weights, structure, gold)
        rows = odds / total[:, None]
        rows[at] -= 1.0
        value = by_sequence(weights * (top + np.log(total) - scores[at]), potentials.offsets)
        adjoint = structure.operation("neighbour_adjoint")
        return Evaluated(value, adjoint(rows * weights[:, None], potentials.offsets, gold))
