"""The likelihood on an exponential scale: 1 / p(y | x) - 1 = exp(log Z - score(gold)) - 1.

Hard sequences count far more than in the likelihood, long ones too: p shrinks with each token. Hazard: 1 / p
exceeds the largest number where log p < -709.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives.objective import Block, Floats, Objective, PotentialGradient, known, soft


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
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        del label_weights
        found = soft(structure, block).minus(known(structure, block, gold))
        ones, scale = np.ones_like(found.value), np.exp(found.value)
        return found._replace(value=np.expm1(found.value)).times(ones, scale, block.offsets)

    def overflow(self, sequence: int) -> FieldcraftError:
        return FieldcraftError(
            f"sequence {sequence}: 1 / p(y | x), the loss of {self.name}, exceeds the largest number; use "
            "objective='pointwise_exponential', whose terms do not multiply along the sequence, or "
            "'likelihood', or cut long sequences"
        )
