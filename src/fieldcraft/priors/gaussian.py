"""Gaussian: sum of (w - mean)^2 / (2 variance). In CRFsuite's terms c2 = 1 / (2 variance)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fieldcraft.priors.prior import Floats, Prior, per_weight


@dataclass(frozen=True)
class Gaussian(Prior):
    """Normal prior with any mean and variance.

    Parameters
    ----------
    variance : > 0; inf for weights without penalty
    mean : where the penalty is zero

    >>> Gaussian(variance=0.5).quadratic(3)
    (array([0.]), array([2.]))
    """

    variance: ArrayLike = 10.0
    mean: ArrayLike = 0.0

    def quadratic(self, n_weights: int) -> tuple[Floats, Floats]:
        variance = per_weight(self.variance, n_weights, "variance", low=0.0)
        return per_weight(self.mean, n_weights, "mean", finite=True), 1.0 / variance

    def centred(self, weights: Floats, information: Floats) -> Gaussian:
        _, precision = self.quadratic(len(weights))
        with np.errstate(divide="ignore"):  # weights without penalty, of which nothing is known
            return Gaussian(variance=1.0 / (precision + information), mean=weights)
