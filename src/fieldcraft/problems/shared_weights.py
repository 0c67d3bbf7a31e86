"""Weights that act as one, as one variable each: what an optimiser that combines gradients minimises.

Features with the same label whose attributes always occur together have the same gradient. Weights that start
alike and are penalised alike stay equal, so one variable v with n_v members does for them:

    f(v) = f(w),    <v, v'> = sum of n_v v v' = <w, w'>

The optimiser takes the same steps with fewer numbers: a fifth to a half fewer on the corpora of the
benchmarks. Gradients are those of each weight.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.problems.protocols import Floats, Shared

if TYPE_CHECKING:
    from fieldcraft.problems.penalised import Penalised


class SharedWeights(Shared):
    """The variables of a problem whose core shares weights.

    Parameters
    ----------
    whole : the problem over all weights
    native : its core, whose weights are shared
    penalty : mean and precision of the Gaussian, the same for all weights
    n_variables : how many there are
    """

    def __init__(self, whole: Penalised, native: Any, penalty: tuple[float, float], n_variables: int) -> None:
        self._whole, self._native, self._penalty = whole, native, penalty
        self.n_variables, self.n_jobs = n_variables, whole.n_jobs
        self.members: NDArray[np.uint8] = native.members()  # [V] how many weights each stands for

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        loss, penalty = self._native.evaluate_shared(weights, gradient, *self._penalty)
        self._whole.refuse_overflow(loss, weights if math.isfinite(loss) else self.weights(weights))
        return float(loss + penalty)

    def weights(self, variables: Floats) -> Floats:
        """[F] the weights that the variables stand for."""
        return np.asarray(self._native.shared_weights(variables))
