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
from fieldcraft.objectives.objective import Evaluated, Floats, Objective, weight_of
from fieldcraft.potentials import Parts
from fieldcraft.structures.structure import Structure, by_sequence


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
    needs: ClassVar[tuple[str, ...]] = ("log_marginals", "covariance")

    def loss(
        self, structure: Structure, potentials: Parts, gold: Any, label_weights: Floats | None
    ) -> Evaluated:
        weights = weight_of(label_weights, structure, gold)
        at = np.arange(len(gold)), gold
        log_marginals = structure.operation("log_marginals")(potentials)  # [tokens, S]
        terms, slopes = self.scale(-log_marginals[at])
        moved = np.zeros(log_marginals.shape)  # d loss / d log marginals
        moved[at] = -np.where(weights == 0, 0.0, weights * slopes)
        value = by_sequence(np.where(weights == 0, 0.0, weights * terms), potentials.offsets)
        moved[~np.repeat(np.isfinite(value), np.diff(potentials.offsets))] = 0.0  # these are reported
        return Evaluated(value, structure.operation("covariance")(potentials, moved))

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
