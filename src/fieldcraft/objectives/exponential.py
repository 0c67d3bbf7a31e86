"""The likelihood on an exponential scale: 1 / p(y | x) - 1 = exp(log Z - score(gold)) - 1.

Hard sequences count far more than in the likelihood, long ones too: p shrinks with each token. Hazard: 1 / p
exceeds the largest number where log p < -709.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives.objective import Evaluated, Floats, Objective, known, minus, soft
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure


@dataclass(frozen=True)
class Exponential(Objective):
    """1 / p(gold labelling) - 1.

    >>> import numpy as np
    >>> from fieldcraft.structures.states import StateSpace
    >>> node, edge = np.zeros((2, 2)), np.zeros(4)
    >>> Exponential().value_and_gradient(StateSpace.labels(2), node, edge, [0, 2], np.array([0, 1])).value
    array([3.])
    """

    name: ClassVar[str] = "exponential"

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        del label_weights
        log_loss = minus(structure, soft(structure, potentials), known(structure, potentials, gold))
        gradient = structure.scale(log_loss.gradient, np.exp(log_loss.value))
        return Evaluated(np.expm1(log_loss.value), gradient)

    def overflow(self, sequence: int) -> FieldcraftError:
        return FieldcraftError(
            f"sequence {sequence}: 1 / p(y | x), the loss of {self.name}, exceeds the largest number; use "
            "objective='pointwise_exponential', whose terms do not multiply along the sequence, or "
            "'likelihood', or cut long sequences"
        )
