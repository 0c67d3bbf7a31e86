"""What every prior shares: per-weight settings and the empty defaults.

A prior is a few vectors over the weights. Each part may be absent:
``quadratic(n)`` = (mean, precision) of sum precision (w - mean)^2 / 2; ``l1(n)`` = strengths (above, below)
of sum above max(w, 0) + below max(-w, 0); ``bounds(n)`` = (lower, upper). A vector has length 1 (the same
for all weights) or n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldcraft.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """A penalty on weights; every setting is a number or a vector over weights."""

    def quadratic(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """(mean, precision) of the quadratic part, or None without."""
        del n_weights
        return None

    def l1(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """Strengths (above, below) of the absolute-value part, or None without."""
        del n_weights
        return None

    def bounds(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """(lower, upper) between which the weights must stay, or None without."""
        del n_weights
        return None

    def centred(self, weights: Floats, information: Floats) -> Prior:
        """What is believed after weights were learnt, ``information`` [n] being their curvature in the loss.

        A penalty without a centre to move stays as it is.
        """
        del weights, information
        return self

    def settings(self) -> dict[str, Any]:
        """What a model file keeps of it: vectors over weights are named, not repeated."""
        shown = {}
        for name, value in vars(self).items():
            array = np.asarray(value)
            shown[name] = array.item() if array.ndim == 0 else f"vector of {array.size}"
        return {"kind": type(self).__name__, **shown}


class NoPrior(Prior):
    """No penalty: the maximum of the likelihood itself."""


def per_weight(
    value: ArrayLike, n_weights: int, name: str, *, low: float = -np.inf, finite: bool = False
) -> Floats:
    """``value`` as a vector of length 1 or ``n_weights``, all of it > low, and finite where asked."""
    try:
        vector = np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; give one number or one per weight ({n_weights})") from None
    if vector.ndim != 1 or len(vector) not in (1, n_weights):
        raise InputError(f"{name} has shape {vector.shape}; give one number or one per weight ({n_weights})")
    bad = np.isnan(vector) | (vector <= low) | (finite & np.isinf(vector))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        rule = "finite" if finite else f"greater than {low:g}"
        raise InputError(f"{name}[{at}] is {vector[at]}; it must be {rule}")
    return np.ascontiguousarray(vector)
