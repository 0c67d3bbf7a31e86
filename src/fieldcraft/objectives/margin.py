"""Margins: the gold labelling shall beat every other by as much as that one's labels cost.

    cost(y) = sum over t of C[gold_t, y_t]
    margin          max over y of (score(y) + cost(y)) - score(gold)                the structured hinge loss
    softmax_margin  log of the sum over y of exp(score(y) + cost(y)) - score(gold)  its smooth upper bound

The costs are added to the node scores: inference does not change. Label weights multiply the rows of C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.objectives.costs import cost_matrix
from fieldcraft.objectives.objective import (
    Block,
    Floats,
    Objective,
    PotentialGradient,
    hard,
    known,
    soft,
    weight_of,
)


@dataclass(frozen=True, eq=False)
class Margin(Objective):
    """The structured hinge loss.

    Parameters
    ----------
    cost : "hamming" (1 for each wrong label), a matrix by gold label and label in the order of the labels,
        or a mapping {(gold, label): cost} of those that cost something else than 1

    >>> Margin(cost={("B-PER", "O"): 3.0}).costs(["B-PER", "O"]).tolist()
    [[0.0, 3.0], [1.0, 0.0]]
    """

    cost: Any = "hamming"

    name: ClassVar[str] = "margin"
    smooth: ClassVar[bool] = False
    weighs_labels: ClassVar[bool] = True

    def costs(self, names: Any) -> Floats:
        return cost_matrix(self.cost, names)

    def loss(
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        return hard(structure, self._dearer(block, gold, label_weights)).minus(known(structure, block, gold))

    def _dearer(self, block: Block, gold: Any, label_weights: Floats | None) -> Block:
        """The potentials with the costs of wrong labels."""
        states = block.states
        matrix = self.costs(states.names or int(states.label_of.max()) + 1)
        weights = weight_of(label_weights, states, gold)[:, None]
        return block.plus(weights * matrix[np.ix_(states.label_of[gold], states.label_of)])


@dataclass(frozen=True, eq=False)
class SoftmaxMargin(Margin):
    """The hinge loss with a soft maximum: smooth, and with costs of zero the likelihood.

    Parameters
    ----------
    cost : see Margin
    """

    name: ClassVar[str] = "softmax_margin"
    smooth: ClassVar[bool] = True

    def loss(
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        return soft(structure, self._dearer(block, gold, label_weights)).minus(known(structure, block, gold))
