"""Negative conditional log-likelihood: log Z(x) - score(x, y).

Its gradient in the potentials is marginals - indicator(gold).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Evaluated, Floats, Objective, known, minus, soft
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class Likelihood(Objective):
    """Minus the log-probability of the gold labelling, log Z - score(gold): the default.

    >>> import fieldcraft as fc
    >>> crf = fc.ChainCRF(objective="likelihood").fit([[["a"], ["b"]]], [["X", "Y"]])
    >>> crf.objective_
    Likelihood()
    """

    name: ClassVar[str] = "likelihood"

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        return minus(structure, soft(structure, potentials), known(structure, potentials, gold))
