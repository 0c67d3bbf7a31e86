"""Hyperbolic: sum of log cosh(w / scale). Round near zero like a Gaussian, straight far out like a Laplacian.

log cosh x is computed as |x| + log1p(exp(-2 |x|)) - log 2, which no x overflows; its slope is tanh x.
A strength beta, as in log cosh(beta w), is a scale of 1 / beta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.priors.prior import Floats, Prior, Smooth
from fieldcraft.priors.settings import POSITIVE, Limits, Setting


@dataclass(frozen=True)
class Hyperbolic(Prior):
    """Hyperbolic prior: quadratic for weights below the scale, absolute values beyond it.

    Parameters
    ----------
    scale : > 0; inf for weights without penalty

    >>> gradient = np.zeros(2)
    >>> Hyperbolic(scale=2.0).smooth_part(2)(np.array([0.0, 2000.0]), gradient), gradient
    (999.3068528194401, array([0. , 0.5]))
    """

    scale: Setting = 1.0

    limits: ClassVar[dict[str, Limits]] = {"scale": POSITIVE}

    def smooth_part(self, n_weights: int) -> Smooth:
        strength = 1.0 / self.vector("scale", n_weights)

        def penalty(weights: Floats, gradient: Floats) -> float:
            x = weights * strength
            gradient += strength * np.tanh(x)
            np.abs(x, out=x)
            return float(np.sum(x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0)))

        return penalty

    def holds(self, n_weights: int) -> NDArray[np.bool_]:
        return np.isfinite(self.vector("scale", n_weights))
