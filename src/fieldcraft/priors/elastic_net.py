"""Elastic net: sum of |w| / scale + w^2 / (2 variance): sparse and strictly convex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fieldcraft.priors.prior import Floats, Prior
from fieldcraft.priors.settings import POSITIVE, Limits, Setting


@dataclass(frozen=True)
class ElasticNet(Prior):
    """Laplacian and Gaussian at once.

    Parameters
    ----------
    scale : > 0 of the absolute values; inf leaves the Gaussian alone
    variance : > 0 of the squares; inf leaves the Laplacian alone
    """

    scale: Setting = 1.0
    variance: Setting = 10.0

    limits: ClassVar[dict[str, Limits]] = {"scale": POSITIVE, "variance": POSITIVE}

    def quadratic_part(self, n_weights: int) -> tuple[Floats, Floats]:
        return np.zeros(1), 1.0 / self.vector("variance", n_weights)

    def l1_part(self, n_weights: int) -> tuple[Floats, Floats]:
        strength = 1.0 / self.vector("scale", n_weights)
        return strength, strength
