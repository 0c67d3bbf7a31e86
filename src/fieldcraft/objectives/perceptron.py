"""The perceptron's loss: best score - gold score.

It is zero where the gold labelling is (one of) the best. Its gradient is indicator(best) - indicator(gold),
the step that the perceptron takes. Hazard: weights of zero have no loss either, so minimising it together
with a penalty leads there; it is for optimisers that take steps and average, not for those that converge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, hard, known, minus
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class Perceptron(Objective):
    """By how much the best labelling beats the gold one: max score - score(gold).

    >>> import numpy as np
    >>> from fieldcraft.structures.states import StateSpace
    >>> node, edge = np.array([[1.0, 3.0]]), np.zeros(4)
    >>> Perceptron().value_and_gradient(StateSpace.labels(2), node, edge, [0, 1], np.array([0])).node
    array([[-1.,  1.]])
    """

    name: ClassVar[str] = "perceptron"
    smooth: ClassVar[bool] = False

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        return minus(structure, hard(structure, potentials), known(structure, potentials, gold))
