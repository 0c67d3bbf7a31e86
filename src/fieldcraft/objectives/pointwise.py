"""Pointwise likelihood: each position's label by itself, summed over all other labels.

    loss = sum over t of - log p(y_t | x)             p(y_t | x) are the node marginals

Its gradient is a covariance: - sum over t of d log p(y_t | x) / d potentials, in time linear in the length.
It is not convex. On the exponential scale each position counts 1 / p - 1 instead of - log p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives.objective import (
    Block,
    Floats,
    Objective,
    PotentialGradient,
    by_sequence,
    weight_of,
)


@dataclass(frozen=True)
class Pointwise(Objective):
    """Minus the sum of the log-probabilities of each token's label.

    >>> import numpy as np
    >>> from fieldcraft.structures.states import StateSpace
    >>> node, edge = np.zeros((3, 2)), np.zeros(4)
    >>> found = Pointwise().value_and_gradient(StateSpace.labels(2), node, edge, [0, 3], np.array([0, 1, 0]))
    >>> found.value.round(6)
    array([2.079442])
    """

    name: ClassVar[str] = "pointwise"
    convex: ClassVar[bool] = False
    weighs_labels: ClassVar[bool] = True

    def loss(
        self, structure: Any, block: Block, gold: Any, label_weights: Floats | None
    ) -> PotentialGradient:
        weights = weight_of(label_weights, block.states, gold)
        at = np.arange(len(gold)), gold
        minus_log = -structure.log_marginals(*block)[at]  # [tokens]
        terms, slopes = self.scale(minus_log)
        moved = np.zeros(block.node.shape)  # d loss / d log marginals
        moved[at] = -np.where(weights == 0, 0.0, weights * slopes)
        value = by_sequence(np.where(weights == 0, 0.0, weights * terms), block.offsets)
        moved[~np.repeat(np.isfinite(value), np.diff(block.offsets))] = 0.0  # these are reported
        return PotentialGradient(value, *structure.covariance(*block, moved))

    def scale(self, minus_log: Floats) -> tuple[Floats, Floats]:
        """The loss of each position and its slope, as functions of - log p."""
        return minus_log, np.ones_like(minus_log)


@dataclass(frozen=True)
class PointwiseExponential(Pointwise):
    """Sum over tokens of 1 / p(its label) - 1."""

    name: ClassVar[str] = "pointwise_exponential"

    def scale(self, minus_log: Floats) -> tuple[Floats, Floats]:
        return np.expm1(minus_log), np.exp(minus_log)

    def overflow(self, sequence: int) -> FieldcraftError:
        return FieldcraftError(
            f"sequence {sequence}: 1 / p(y_t | x), the loss of {self.name}, exceeds the largest number; use "
            "objective='pointwise', or scale the features down"
        )
