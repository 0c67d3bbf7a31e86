"""The Viterbi assumption: the best labelling stands for the whole distribution.

The likelihood's expected counts are replaced by the counts of the most probable labelling, as if it had all
of the probability. The function that has this gradient is the likelihood with maxima in place of sums,

    loss = max over y of score(y)  -  max over allowed y of score(y)

With all labels known the second maximum is score(gold) and this is the perceptron's loss: the perceptron is
stochastic descent on it, and it shares its hazard (weights of zero have no loss). With partial labels it is
the hard version of ``marginal_likelihood``; completing the labels by their best guess is the hard version
of EM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, hard, minus
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class Viterbi(Objective):
    """By how much the best labelling beats the best one that the labels allow.

    >>> import numpy as np
    >>> from fieldcraft.structures.states import StateSpace
    >>> node, edge = np.array([[1.0, 3.0, 2.0]]), np.zeros(9)
    >>> allowed = np.array([[True, False, True]])
    >>> Viterbi().value_and_gradient(StateSpace.labels(3), node, edge, [0, 1], allowed).node
    array([[ 0.,  1., -1.]])
    """

    name: ClassVar[str] = "viterbi"
    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = False
    partial: ClassVar[bool] = True

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        allowed = structure.restrict(potentials, gold)
        return minus(structure, hard(structure, potentials), hard(structure, allowed))
