"""Laplacian: sum of |w| / scale. Drives weights to zero. In CRFsuite's terms c1 = 1 / scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldcraft.priors.prior import Floats, Prior
from fieldcraft.priors.settings import POSITIVE, Limits, Setting


@dataclass(frozen=True)
class Laplacian(Prior):
    """Double-exponential prior.

    Parameters
    ----------
    scale : > 0; inf for weights without penalty
    """

    scale: Setting = 1.0

    limits: ClassVar[dict[str, Limits]] = {"scale": POSITIVE}

    def l1_part(self, n_weights: int) -> tuple[Floats, Floats]:
        strength = 1.0 / self.vector("scale", n_weights)
        return strength, strength
