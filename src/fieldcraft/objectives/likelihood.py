"""Negative conditional log-likelihood: log Z(x) - score(x, y).

Its gradient in the potentials is marginals - indicator(gold).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.objectives.objective import Block, Floats, Objective, PotentialGradient, known, soft


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
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        del label_weights
        return soft(structure, block).minus(known(structure, block, gold))
