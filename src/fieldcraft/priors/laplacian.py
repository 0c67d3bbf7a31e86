"""Laplacian: sum of |w| / scale. Drives weights to zero. In CRFsuite's terms c1 = 1 / scale."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from fieldcraft.priors.prior import Floats, Prior, per_weight


@dataclass(frozen=True)
class Laplacian(Prior):
    """Double-exponential prior.

    Parameters
    ----------
    scale : > 0; inf for weights without penalty
    """

    scale: ArrayLike = 1.0

    def l1(self, n_weights: int) -> tuple[Floats, Floats]:
        strength = 1.0 / per_weight(self.scale, n_weights, "scale", low=0.0)
        return strength, strength
