"""The training problem of co-operative training: good members that differ.

With the log-likelihood L_i of member i and that of the pool, both averaged over the N sequences, maximise

    sum over i of c_i L_i - gamma f(A)        A = L_pool - sum over i of v_i L_i

c_i is 1, or the member's weight v_i in the pool. A is the ambiguity, -mean log of the pool's normaliser
(Smith 2007, equations 7.1 to 7.10); since the gold labelling's scores cancel, it is a difference of
log-likelihoods, so that n + 1 forward-backwards give everything:

    dA/dw_i = v_i (dL_pool/dw - dL_i/dw_i)    at the features of member i       (equation 7.22)
    dA/dv_i = w_i . dL_pool/dw - L_i

where w = sum of v_i w_i are the pool's weights. Trained pool weights are v = softmax(u), u beside the
members' weights among the variables: dF/du_i = v_i (dF/dv_i - sum over j of v_j dF/dv_j).

What is minimised is N times that with the sign turned, plus the penalty of each member's own prior: with
gamma = 0 and c_i = 1 it is the sum of the members' own objectives.

Hazard: it is not convex. Two members with the same features can change places; half way A = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fieldcraft.pools.ambiguity_penalties import AmbiguityPenalty
from fieldcraft.pools.joint import Floats, Joint, Rows
from fieldcraft.priors import Prior


class LikelihoodFunction(Protocol):
    """A function of the members' mean log-likelihoods [n] and pool weights [n], to be maximised."""

    def value(self, likelihoods: Floats, weights: Floats) -> float:
        """Its value."""

    def derivatives(self, likelihoods: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """[n] by the likelihoods, [n] by the pool weights."""


class PlainSum:
    """The sum of the likelihoods."""

    def value(self, likelihoods: Floats, weights: Floats) -> float:
        del weights
        return float(likelihoods.sum())

    def derivatives(self, likelihoods: Floats, weights: Floats) -> tuple[Floats, Floats]:
        del weights
        return np.ones(len(likelihoods)), np.zeros(len(likelihoods))


class WeightedSum:
    """Each likelihood times the member's weight in the pool."""

    def value(self, likelihoods: Floats, weights: Floats) -> float:
        return float(weights @ likelihoods)

    def derivatives(self, likelihoods: Floats, weights: Floats) -> tuple[Floats, Floats]:
        return weights.copy(), likelihoods.copy()


class Facts(NamedTuple):
    """Of one evaluation: mean log-likelihoods [n], the ambiguity (None without gamma), pool weights [n]."""

    likelihoods: Floats
    ambiguity: float | None
    weights: Floats


class Cooperative(Joint):
    """The training problem.

    Parameters
    ----------
    evaluate : values of all problems, without priors: that of each member with its own features, then that of
        one chain with all features; gradients are written into its second argument (dealt.py)
    n_features, n_jobs : of that chain, and threads
    rows, priors : for each member its features and its prior
    total : N, the sum of the sequences' weights
    pool_weights : [n] v; None if they are trained
    gamma, penalty : gamma f(A)
    likelihoods : c_i, as a function
    """

    def __init__(
        self,
        evaluate: Callable[[list[Floats], list[Floats]], list[float]],
        rows: Sequence[Rows],
        priors: Sequence[Prior],
        *,
        n_features: int,
        n_jobs: int,
        total: float,
        pool_weights: Floats | None,
        gamma: float,
        penalty: AmbiguityPenalty,
        likelihoods: LikelihoodFunction,
    ) -> None:
        n = len(rows)
        super().__init__(n_features, rows, priors, n_jobs, extra=n if pool_weights is None else 0)
        # The pool's weights are few and need not curve: they are with those of the last member.
        self.groups = [*self.slices[:-1], slice(self.slices[-1].start, self.n_variables)]
        self._evaluate, self.total = evaluate, total
        self.gamma, self.penalty, self.function = gamma, penalty, likelihoods
        self._given = pool_weights
        self._slopes = [np.empty(len(own)) for own in rows]
        self._slope = np.empty(n_features)
        self.facts = Facts(np.zeros(n), None, np.zeros(n))

    def pool_weights(self, variables: Floats) -> Floats:
        """[n] v."""
        if self._given is not None:
            return self._given
        raised = np.exp(variables[self.others] - variables[self.others].max())
        return np.asarray(raised / raised.sum())

    def collapsed(self, variables: Floats) -> Floats:
        """[F] the weights of the pool as one chain."""
        weights = np.zeros(self.n_features)
        for v, own, part in zip(self.pool_weights(variables).tolist(), self.rows, self.slices):
            weights[own] += v * variables[part]
        return weights

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        v = self.pool_weights(weights)
        points = [np.ascontiguousarray(weights[part]) for part in self.slices]
        whole = [self.collapsed(weights)] if self.gamma > 0 else []
        found = self._evaluate([*points, *whole], [*self._slopes, *([self._slope] if whole else [])])
        means = -np.array(found[: len(points)]) / self.total
        by_mean, by_weight = self.function.derivatives(means, v)
        value, scale, ambiguity = -self.function.value(means, v), 0.0, None
        if whole:
            ambiguity = float(-found[-1] / self.total - v @ means)
            value += self.gamma * self.penalty.value(ambiguity)
            scale = self.gamma * self.penalty.derivative(ambiguity)
        self.facts = Facts(means, ambiguity, v)
        if not np.isfinite(value):
            gradient[:] = 0.0
            return np.inf
        for i, (own, part, slope) in enumerate(zip(self.rows, self.slices, self._slopes)):
            gradient[part] = (by_mean[i] + scale * v[i]) * slope
            if scale != 0.0:
                gradient[part] -= scale * v[i] * self._slope[own]
        self._by_pool_weights(weights, gradient, means, v, -by_weight, scale)
        return float(self.total * value) + self.add_penalty(weights, gradient)

    def _by_pool_weights(
        self, weights: Floats, gradient: Floats, means: Floats, v: Floats, slopes: Floats, scale: float
    ) -> None:
        """The gradient of the softmax' variables; ``slopes`` are dF/dv without the penalty."""
        if self._given is not None:
            return
        if scale != 0.0:
            along = np.array([weights[part] @ self._slope[own] for own, part in zip(self.rows, self.slices)])
            slopes = slopes + scale * (-along / self.total - means)
        gradient[self.others] = self.total * v * (slopes - v @ slopes)
