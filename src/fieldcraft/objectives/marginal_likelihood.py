"""Likelihood of what is known where labels are partial.

    loss = log Z - log Z(restricted) = - log of the probability of all labellings that the labels allow

A token's label may be known, a set of candidates, or unknown (all labels). The gradient is the difference of
two marginals. With all labels known it is the likelihood; a token with all labels allowed is as if it were
absent from the second term. Not convex as soon as something is unknown. EM minimises it too (optimiser="em").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, minus, soft
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class MarginalLikelihood(Objective):
    """Minus the log-probability that the labelling is one of those that partial labels allow.

    >>> import fieldcraft as fc
    >>> X = [[["the"], ["dog"]], [["the"], ["cat"]], [["a"], ["dog"]]]
    >>> y = [["DET", {"NOUN", "VERB"}], ["DET", "NOUN"], [None, "NOUN"]]
    >>> crf = fc.ChainCRF(objective="marginal_likelihood").fit(X, y)
    >>> crf.predict([[["the"], ["dog"]]]).tolist()
    [['DET', 'NOUN']]
    """

    name: ClassVar[str] = "marginal_likelihood"
    convex: ClassVar[bool] = False
    partial: ClassVar[bool] = True

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        allowed = structure.restrict(potentials, gold)
        return minus(structure, soft(structure, potentials), soft(structure, allowed))
