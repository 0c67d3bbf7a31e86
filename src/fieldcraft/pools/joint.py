"""Several members' weights as the variables of one training problem, with the penalty of each.

Layout: the variables are w_1, w_2 …, the weights of each member's own features, one after the other, then
``extra`` variables that have no penalty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldcraft.priors import Prior
from fieldcraft.problems.protocols import Gradient, Pair

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Joint(Gradient):
    """The variables, their penalties, and where each member's weights stand among all features.

    Parameters
    ----------
    n_features : F, of the feature index that all members share
    rows : for each member the features that it has
    priors : for each member its prior, with a number for every weight
    n_jobs : threads
    extra : number of variables that are no weights of features
    """

    def __init__(
        self, n_features: int, rows: Sequence[Rows], priors: Sequence[Prior], n_jobs: int, extra: int = 0
    ) -> None:
        self.n_features, self.rows, self.n_jobs, self.mask = n_features, list(rows), n_jobs, None
        sizes = [len(own) for own in rows]
        bounds = np.cumsum([0, *sizes])
        self.slices = [slice(a, b) for a, b in zip(bounds, bounds[1:])]
        self.others = slice(int(bounds[-1]), int(bounds[-1]) + extra)
        self.n_variables = self.others.stop
        lengths = [*sizes, extra]

        def joined(part: str, absent: tuple[float, float]) -> Pair | None:
            parts = [getattr(prior, part)(n) for prior, n in zip(priors, sizes)]
            return _joined([*parts, None], lengths, absent)

        self.l1 = joined("l1_part", (0.0, 0.0))
        self.bounds = joined("bounds_part", (-np.inf, np.inf))
        self.quadratic = joined("quadratic_part", (0.0, 0.0))
        self._smooth = [prior.smooth_part(n) for prior, n in zip(priors, sizes)]

    def placed(self, variables: Floats) -> Floats:
        """[members, F] the weights of each member among those of all features."""
        vectors = np.zeros((len(self.rows), self.n_features))
        for vector, own, part in zip(vectors, self.rows, self.slices):
            vector[own] = variables[part]
        return vectors

    def add_penalty(self, variables: Floats, gradient: Floats) -> float:
        """The smooth penalty; its gradient is added to ``gradient``."""
        value = 0.0
        for part, smooth in zip(self.slices, self._smooth):
            if smooth is not None:
                value += smooth(variables[part], gradient[part])
        if self.quadratic is not None:
            mean, precision = self.quadratic
            away = variables - mean
            value += 0.5 * float(np.sum(precision * away * away))
            gradient += precision * away
        return value

    def l1_value(self, weights: Floats) -> float:
        if self.l1 is None:
            return 0.0
        above, below = self.l1
        return float(np.sum(above * np.maximum(weights, 0.0) + below * np.maximum(-weights, 0.0)))


def _joined(parts: Sequence[Pair | None], sizes: Sequence[int], absent: tuple[float, float]) -> Pair | None:
    """Pairs of vectors one after the other; None if all are absent."""
    if all(part is None for part in parts):
        return None
    whole = [absent if part is None else part for part in parts]
    left, right = (
        np.concatenate([np.broadcast_to(pair[side], (n,)) for pair, n in zip(whole, sizes)])
        for side in (0, 1)
    )
    return left, right
