"""Gaussian: sum of (w - mean)^2 / (2 variance). In CRFsuite's terms c2 = 1 / (2 variance)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fieldcraft.priors.prior import Floats, Prior
from fieldcraft.priors.settings import FINITE, POSITIVE, Limits, Setting


@dataclass(frozen=True)
class Gaussian(Prior):
    """Normal prior with any mean and variance.

    Parameters
    ----------
    variance : > 0; inf for weights without penalty
    mean : where the penalty is zero

    >>> Gaussian(variance=0.5).quadratic_part(3)
    (array([0.]), array([2.]))
    """

    variance: Setting = 10.0
    mean: Setting = 0.0

    limits: ClassVar[dict[str, Limits]] = {"variance": POSITIVE, "mean": FINITE}

    def quadratic_part(self, n_weights: int) -> tuple[Floats, Floats]:
        return self.vector("mean", n_weights), 1.0 / self.vector("variance", n_weights)

    def centred(self, weights: Floats, information: Floats) -> Gaussian:
        _, precision = self.quadratic_part(len(weights))
        with np.errstate(divide="ignore"):  # weights without penalty, of which nothing is known
            return Gaussian(variance=1.0 / (precision + information), mean=weights)
