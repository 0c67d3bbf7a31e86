"""Margins: the gold labelling shall beat every other by as much as that one's labels cost.

    cost(y) = sum over t of C[gold_t, y_t]
    margin          max over y of (score(y) + cost(y)) - score(gold)                the structured hinge loss
    softmax_margin  log of the sum over y of exp(score(y) + cost(y)) - score(gold)  its smooth upper bound

The costs are added to the node scores: inference does not change. Label weights multiply the rows of C.
With ``relaxed=True`` the maximum is that of a linear relaxation, an upper bound on it: convex too, exact for
two labels that attract each other, and never too low, as a search that misses the best labelling would be.
T. Finley, T. Joachims, Training structural SVMs when exact inference is intractable, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.costs import cost_matrix
from fieldcraft.objectives.objective import (
    Evaluated,
    Floats,
    Objective,
    hard,
    known,
    minus,
    soft,
    weight_of,
)
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True, eq=False)
class Costed(Objective):
    """An objective with a cost for every wrong label.

    Parameters
    ----------
    cost : "hamming" (1 for each wrong label), a matrix by gold label and label in the order of the labels,
        or a mapping {(gold, label): cost} of those that cost something else than 1
    """

    cost: Any = "hamming"

    weighs_labels: ClassVar[bool] = True

    def costs(self, names: Any) -> Floats:
        return cost_matrix(self.cost, names)

    def _augmented(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Parts:
        """The potentials with the costs of wrong labels."""
        matrix = self.costs(structure.labels)
        weights = weight_of(label_weights, structure, gold)[:, None]
        return structure.augment(potentials, weights * matrix[structure.label_of[gold]])


@dataclass(frozen=True, eq=False)
class Margin(Costed):
    """The structured hinge loss.

    Parameters
    ----------
    cost : see Costed
    relaxed : maximise over the linear relaxation of the labellings, for structures that have one (graphs)

    >>> Margin(cost={("B-PER", "O"): 3.0}).costs(["B-PER", "O"]).tolist()
    [[0.0, 3.0], [1.0, 0.0]]
    """

    relaxed: bool = False

    name: ClassVar[str] = "margin"
    smooth: ClassVar[bool] = False

    def check(self, structure: Structure) -> None:
        super().check(structure)
        if self.relaxed:
            structure.operation("relaxation")

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        augmented = self._augmented(structure, potentials, gold, label_weights)
        if self.relaxed:
            best = Evaluated(*structure.operation("relaxation")(augmented))
        else:
            best = hard(structure, augmented)
        return minus(structure, best, known(structure, potentials, gold))


@dataclass(frozen=True, eq=False)
class SoftmaxMargin(Costed):
    """The hinge loss with a soft maximum: smooth, and with costs of zero the likelihood.

    Parameters
    ----------
    cost : see Costed
    """

    name: ClassVar[str] = "softmax_margin"

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        augmented = self._augmented(structure, potentials, gold, label_weights)
        return minus(structure, soft(structure, augmented), known(structure, potentials, gold))
