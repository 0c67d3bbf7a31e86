"""Gaussian with correlated weights: those of a group share a normally distributed part.

    w_i = mean_i + u_g(i) + e_i,    e_i ~ N(0, variance_i),    u ~ N(0, C)

so that the covariance is diag(variance) + C blown up to blocks: C[g, h] between any weight of group g and
any of group h. With S[g] = sum of 1 / variance over a group and r[g] the sum of (w - mean) / variance there,
the penalty (w - mean)' covariance^-1 (w - mean) / 2 is

    sum (w - mean)^2 / (2 variance) - r' M r / 2,    M = (I + C diag(S))^-1 C

which is as cheap as a Gaussian and needs no inverse of C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.priors.groups import Grouped
from fieldcraft.priors.prior import Floats, Prior, Smooth
from fieldcraft.priors.settings import FINITE, POSITIVE, STRENGTH, Limits, Names, Setting, frozen

ROUNDING = 1e-9


class Blocks(NamedTuple):
    """Groups of a feature index."""

    owner: NDArray[np.int64]  # [F] the group of each weight
    variances: Floats  # [K]


@dataclass(frozen=True)
class BlockGaussian(Prior):
    """Normal prior with a covariance in blocks, for weights that are large or small together.

    Parameters
    ----------
    variance : > 0, of each weight around the part that its group shares; inf for weights without penalty
    mean : of each weight
    shared : >= 0, variance of the shared part: a number (all weights are one group) or a rule in groups
        (fc.groups.by_template, by_label, by_dependency, by_count_bins …), 0 for an independent group
    between : [K, K] correlations of the groups' shared parts, in the order of the rule, ``otherwise`` last;
        None for independent ones

    >>> from fieldcraft import groups
    >>> BlockGaussian(variance=1.0, shared=groups.by_dependency(transitions=4.0, emissions=0.0)).parts()
    {'smooth'}
    """

    variance: Setting = 10.0
    mean: Setting = 0.0
    shared: Any = 1.0
    between: Any = None

    limits: ClassVar[dict[str, Limits]] = {"variance": POSITIVE, "mean": FINITE, "shared": STRENGTH}

    def __post_init__(self) -> None:
        if isinstance(self.between, np.ndarray):
            object.__setattr__(self, "between", self.between.tolist())
        object.__setattr__(self, "between", frozen(self.between))

    def check(self) -> None:
        if not isinstance(self.shared, Grouped) and (callable(self.shared) or np.ndim(self.shared) != 0):
            raise InputError(
                f"shared is a {type(self.shared).__name__}; give one number or a rule in groups, "
                "e.g. fc.groups.by_template({'word*': 4.0}, otherwise=0.0)"
            )
        super().check()
        n_groups = len(self.shared.numbers()) if isinstance(self.shared, Grouped) else 1
        self._correlations(n_groups)

    def resolved(self, index: FeatureIndex, names: Names) -> BlockGaussian:
        others = replace(self, shared=0.0, between=None)
        resolved = Prior.resolved(others, index, names)
        return replace(resolved, shared=self._blocks(index, names), between=self.between)

    def smooth_part(self, n_weights: int) -> Smooth:
        mean, precision = self.vector("mean", n_weights), 1.0 / self.vector("variance", n_weights)
        blocks = self.shared
        if not isinstance(blocks, Blocks):
            blocks = Blocks(np.zeros(n_weights, np.int64), self.vector("shared", n_weights))
        owner, n_groups = blocks.owner, len(blocks.variances)
        spread = np.sqrt(blocks.variances)
        covariance = spread[:, None] * self._correlations(n_groups) * spread
        sums = np.bincount(owner, np.broadcast_to(precision, n_weights), n_groups)
        shrink = np.linalg.solve(np.eye(n_groups) + covariance * sums, covariance)

        def penalty(weights: Floats, gradient: Floats) -> float:
            away = weights - mean
            pull = precision * away
            along = shrink @ np.bincount(owner, pull, n_groups)
            slope = pull - precision * along[owner]
            gradient += slope
            return 0.5 * float(np.dot(away, slope))

        return penalty

    def holds(self, n_weights: int) -> NDArray[np.bool_]:
        return np.isfinite(self.vector("variance", n_weights))

    def _blocks(self, index: FeatureIndex, names: Names) -> Blocks:
        if isinstance(self.shared, Grouped):
            numbers = np.asarray(self.shared.numbers(), np.float64)
            return Blocks(self.shared.owners(index, names), numbers)
        return Blocks(np.zeros(len(index), np.int64), np.array([float(self.shared)]))

    def _correlations(self, n_groups: int) -> Floats:
        """[K, K] the argument as a matrix; InputError unless it is one of correlations."""
        if self.between is None:
            return np.eye(n_groups)
        try:
            matrix = np.asarray(self.between, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"between is {self.between!r}; give a matrix of correlations") from None
        if matrix.shape != (n_groups, n_groups):
            raise InputError(
                f"between has shape {matrix.shape}; the groups of shared are {n_groups}, "
                f"so it must have ({n_groups}, {n_groups})"
            )
        proper = np.allclose(matrix, matrix.T, atol=ROUNDING) and np.allclose(
            np.diag(matrix), 1.0, atol=ROUNDING
        )
        if not proper or float(np.linalg.eigvalsh(matrix).min()) < -ROUNDING:
            raise InputError(
                "between is not a matrix of correlations: it must be symmetric, have 1 on its diagonal and "
                "no negative eigenvalue"
            )
        return matrix
