"""Elastic net: sum of |w| / scale + w^2 / (2 variance): sparse like the one, steady like the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fieldcraft.priors.prior import Floats, Prior, per_weight


@dataclass(frozen=True)
class ElasticNet(Prior):
    """Laplacian and Gaussian at once.

    Parameters
    ----------
    scale : > 0 of the absolute values; inf leaves the Gaussian alone
    variance : > 0 of the squares; inf leaves the Laplacian alone
    """

    scale: ArrayLike = 1.0
    variance: ArrayLike = 10.0

    def quadratic(self, n_weights: int) -> tuple[Floats, Floats]:
        variance = per_weight(self.variance, n_weights, "variance", low=0.0)
        return np.zeros(1), 1.0 / variance

    def l1(self, n_weights: int) -> tuple[Floats, Floats]:
        strength = 1.0 / per_weight(self.scale, n_weights, "scale", low=0.0)
        return strength, strength
