"""The interface of a prior: settings per weight, and parts that are absent by default.

A prior is a few vectors over the weights. Each part may be absent:

    quadratic_part(n)  (mean, precision) of   sum precision (w - mean)^2 / 2
    smooth_part(n)     any other penalty with a gradient, as a function
    l1_part(n)         strengths (above, below) of   sum above max(w, 0) + below max(-w, 0)
    bounds_part(n)     (lower, upper)

A vector has length 1 (the same for all weights) or n. Settings may also be rules over the feature index
(groups.py); ``resolved`` replaces them by vectors when the features are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.index import FeatureIndex
from fieldcraft.priors.settings import Limits, Names, Rule, describe, per_weight, resolve_setting, restore

Floats = NDArray[np.float64]
Smooth = Callable[[Floats, Floats], float]  # weights, gradient (added to) -> value
PARTS = ("quadratic", "smooth", "l1", "bounds")
Self = TypeVar("Self", bound="Prior")


@dataclass(frozen=True)
class Prior:
    """A penalty on weights; every setting is a number, a vector over weights or a rule."""

    limits: ClassVar[dict[str, Limits]] = {}  # of each setting

    def quadratic_part(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """(mean, precision) of the quadratic part, or None without."""
        del n_weights
        return None

    def smooth_part(self, n_weights: int) -> Smooth | None:
        """Another part with a gradient: (weights, gradient) -> value, its gradient added; or None without."""
        del n_weights
        return None

    def l1_part(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """Strengths (above, below) of the absolute-value part, or None without."""
        del n_weights
        return None

    def bounds_part(self, n_weights: int) -> tuple[Floats, Floats] | None:
        """(lower, upper) between which the weights must stay, or None without."""
        del n_weights
        return None

    def parts(self) -> set[str]:
        """Names of its parts."""
        methods = {name: f"{name}_part" for name in PARTS}
        return {
            n for n, method in methods.items() if getattr(type(self), method) is not getattr(Prior, method)
        }

    def vector(self, name: str, n_weights: int) -> Floats:
        """A setting as a vector of length 1 or n."""
        return per_weight(getattr(self, name), n_weights, name, self.limits[name])

    def check(self) -> None:
        """InputError for settings that are invalid for any features."""
        for name, limits in self.limits.items():
            value = getattr(self, name)
            if isinstance(value, Rule):
                value.check(name, limits)
            elif value is not None and not callable(value):
                per_weight(value, None, name, limits)

    def resolved(self: Self, index: FeatureIndex, names: Names) -> Self:
        """The same prior with vectors instead of rules."""
        vectors = {
            name: resolve_setting(value, index, names, name)
            for name, value in vars(self).items()
            if callable(value)
        }
        return replace(self, **vectors) if vectors else self

    def holds(self, n_weights: int) -> NDArray[np.bool_]:
        """[1 or n] whether the penalty bounds a weight from below, for any loss."""
        bounded = np.zeros(1, bool)
        if (quadratic := self.quadratic_part(n_weights)) is not None:
            bounded = bounded | (quadratic[1] > 0)
        if (strengths := self.l1_part(n_weights)) is not None:
            bounded = bounded | (strengths[1] > 0)
        if (bounds := self.bounds_part(n_weights)) is not None:
            bounded = bounded | np.isfinite(bounds[0])
        return bounded

    def centred(self, weights: Floats, information: Floats) -> Prior:
        """The prior after training: centred at the weights; ``information`` [n] is the curvature of the loss.

        A prior without a centre is unchanged.
        """
        del weights, information
        return self

    def settings(self) -> dict[str, Any]:
        """Kind and settings as stored in a file; vectors and functions are named, not stored."""
        return {
            "kind": type(self).__name__,
            **{name: describe(value) for name, value in vars(self).items()},
        }

    @classmethod
    def from_settings(cls: type[Self], settings: dict[str, Any]) -> Self:
        """The prior from the output of ``settings``, without the kind; InputError if invalid."""
        prior = cls(**{name: restore(value) for name, value in settings.items()})
        prior.check()
        return prior


class NoPrior(Prior):
    """No penalty: the maximum of the likelihood itself."""
