"""The training problem: what an optimiser minimises.

    f(w) = loss(w) + smooth penalties,    F(w) = f(w) + sum above max(w, 0) + below max(-w, 0)

``value_and_gradient`` is the smooth part f; the absolute-value part is given as strengths, because it has
no gradient at zero. A feature mask keeps weights at zero; ``reduce`` adds up values and gradients of
several processes (identity here).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, native_columns, native_tokens
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.objectives import Likelihood, Objective
from fieldcraft.priors import Prior

Floats = NDArray[np.float64]
Reduce = Callable[[float, Floats], tuple[float, Floats]]


class ChainProblem:
    """Penalised loss of a chain over a design, evaluated natively.

    Parameters
    ----------
    design : encoded corpus with its feature index
    n_states : number of states
    prior : penalty on the weights
    objective : the loss; None for the likelihood
    costs : [Y, Y] for the margins
    label_weights : [Y] >= 0, how much the terms of gold labels count
    sequence_weights : [N] >= 0, how much each sequence counts
    mask : [F] True where a weight may differ from zero
    """

    def __init__(
        self,
        design: Design,
        n_states: int,
        prior: Prior,
        *,
        objective: Objective | None = None,
        costs: Floats | None = None,
        label_weights: Floats | None = None,
        sequence_weights: Floats | None = None,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
        reduce: Reduce | None = None,
    ) -> None:
        self.n_variables = len(design.index)
        self.n_jobs = n_jobs
        self.mask = mask
        self.l1 = prior.l1_part(self.n_variables)
        self.bounds = prior.bounds_part(self.n_variables)
        self.curvatures: Floats | None = None  # for preconditioners
        self.crowd = 1.0  # features that bend together (curvatures.py)
        self._quadratic = prior.quadratic_part(self.n_variables)
        self._smooth = prior.smooth_part(self.n_variables)
        self._reduce = reduce
        self._native: Any = _core.chain_problem(
            native_columns(design.index),
            n_states,
            native_tokens(design.encoded),
            design.gold,
            sequence_weights,
            n_jobs,
        )
        self.objective: Objective = Likelihood() if objective is None else objective
        self._finite = False  # was a value finite yet
        self._gold = design.gold
        self._allowed = design.partial.allowed(n_states) if design.partial is not None else None
        if self.objective.partial and self._allowed is None:
            self._allowed = np.eye(n_states, dtype=np.uint8)[design.gold]
        if not isinstance(self.objective, Likelihood):
            self._native.use(self.objective.name, self._gold, costs, label_weights, self._allowed)

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        """f(w); the gradient is written into ``gradient``."""
        value = self._native.evaluate(weights, gradient, None)
        if not (self._finite or math.isfinite(value)):
            raise self._overflow(weights, gradient)
        self._finite = True  # from here on a search that went too far turns back by itself
        if self._reduce is not None:
            value, gradient[:] = self._reduce(value, gradient)
        if self._quadratic is not None:
            value += _core.gaussian(weights, *self._quadratic, gradient, self.n_jobs)
        if self._smooth is not None:
            value += self._smooth(weights, gradient)
        if self.mask is not None:
            gradient[~self.mask] = 0.0
        return float(value)

    def _overflow(self, weights: Floats, gradient: Floats) -> FieldcraftError:
        """Names the first sequence whose loss is not finite, or the largest where only the sum is not."""
        losses = np.empty(self._native.n_sequences)
        self._native.evaluate(weights, gradient, losses)
        return self.objective.overflow(int(np.argmax(np.where(np.isfinite(losses), losses, np.inf))))

    def expect(self, weights: Floats) -> float:
        """E-step: complete the partial labels by their expectation at ``weights``.

        From here on ``value_and_gradient`` is Q(w) = log Z - <w, expected counts> + quadratic prior. What is
        returned, added to Q, touches the marginal likelihood at ``weights`` and lies above it elsewhere.
        """
        counts = np.empty(self.n_variables)
        self._native.use("expectation", self._gold, None, None, self._allowed)
        value = self._native.evaluate(weights, counts, None)
        if self._reduce is not None:
            value, counts = self._reduce(value, counts)
        np.negative(counts, out=counts)
        self._native.expect(counts)
        return float(value + _core.dot(weights, counts, self.n_jobs))

    @property
    def empirical(self) -> Floats:
        """[F] what the gold labelling's features add up to (likelihood)."""
        return np.asarray(self._native.empirical)

    def l1_value(self, weights: Floats) -> float:
        """The absolute-value part of the penalty."""
        if self.l1 is None:
            return 0.0
        return float(_core.l1_norm(weights, *self.l1, self.n_jobs))


def check_weights(weights: Any, n_sequences: int) -> Floats | None:
    """Sequence weights as a vector, or an InputError."""
    if weights is None:
        return None
    try:
        vector = np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"sample_weight is not a list of numbers; one per sequence ({n_sequences}) is needed"
        ) from None
    if vector.shape != (n_sequences,):
        raise InputError(
            f"sample_weight has shape {vector.shape}; one number per sequence ({n_sequences}) is needed"
        )
    if not np.all(np.isfinite(vector)) or np.any(vector < 0):
        at = int(np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))[0])
        raise InputError(f"sample_weight[{at}] is {vector[at]}; weights must be finite and not negative")
    return vector


def check_mask(mask: Any, n_weights: int) -> NDArray[np.bool_] | None:
    """A feature mask as booleans, or an InputError."""
    if mask is None:
        return None
    vector = np.asarray(mask)
    if vector.dtype != bool or vector.shape != (n_weights,):
        raise InputError(
            f"feature_mask has shape {vector.shape} and type {vector.dtype}; "
            f"one bool per weight ({n_weights}) is needed"
        )
    return vector


def release_memory() -> None:
    """Hand freed memory back to the system: large arrays were let go, and others are to come."""
    _core.release_memory()
