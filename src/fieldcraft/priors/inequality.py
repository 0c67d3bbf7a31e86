"""Inequality: expected counts may differ from the empirical ones by at most a window.

    positive >= E_empirical[f] - E_model[f] >= -negative

holds at the minimum of the loss plus  sum positive max(w, 0) + negative max(-w, 0): separate strengths for
the two signs. The quadratic extension adds max(w, 0)^2 / (4 C1) + max(-w, 0)^2 / (4 C2), C1 = ``quadratic``
and C2 = ``quadratic_negative``: Gaussians of variances 2 C1 and 2 C2 on the two parts of a weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.priors.prior import Floats, Prior, Smooth
from fieldcraft.priors.settings import POSITIVE, STRENGTH, Limits, Setting


@dataclass(frozen=True)
class Inequality(Prior):
    """Windows around the empirical counts; weights of features inside their window are zero.

    Parameters
    ----------
    positive : A >= 0, strength on positive weights: how much the model's count may fall short
    negative : B >= 0, strength on negative weights: how much it may exceed; None as ``positive`` (mode 1)
    quadratic : C1 > 0 of the positive parts; inf for none
    quadratic_negative : C2 > 0 of the negative parts; None as ``quadratic``

    >>> Inequality(positive=0.2, negative=0.7).l1_part(3)
    (array([0.2]), array([0.7]))
    """

    positive: Setting = 1.0
    negative: Setting | None = None
    quadratic: Setting = math.inf
    quadratic_negative: Setting | None = None

    limits: ClassVar[dict[str, Limits]] = {
        "positive": STRENGTH,
        "negative": STRENGTH,
        "quadratic": POSITIVE,
        "quadratic_negative": POSITIVE,
    }

    def parts(self) -> set[str]:
        """The smooth part only with the quadratic extension."""
        plain = isinstance(self.quadratic, float) and self.quadratic == math.inf
        return {"l1"} if plain and self.quadratic_negative is None else {"l1", "smooth"}

    def l1_part(self, n_weights: int) -> tuple[Floats, Floats]:
        return self._pair("positive", "negative", n_weights)

    def smooth_part(self, n_weights: int) -> Smooth | None:
        if "smooth" not in self.parts():
            return None
        c1, c2 = self._pair("quadratic", "quadratic_negative", n_weights)
        above, below = 0.25 / c1, 0.25 / c2

        def penalty(weights: Floats, gradient: Floats) -> float:
            slope = weights * np.where(weights > 0.0, above, below)
            gradient += 2.0 * slope
            return float(np.sum(slope * weights))

        return penalty

    def holds(self, n_weights: int) -> NDArray[np.bool_]:
        _, c2 = self._pair("quadratic", "quadratic_negative", n_weights)
        return super().holds(n_weights) | np.isfinite(c2)

    def _pair(self, name: str, other: str, n_weights: int) -> tuple[Floats, Floats]:
        first = self.vector(name, n_weights)
        return first, first if getattr(self, other) is None else self.vector(other, n_weights)
