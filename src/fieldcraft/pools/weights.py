"""The weights of a pool's members: given, by likelihood, or by a held-out score.

By likelihood: the weights v on the simplex (v_i >= 0, sum 1) that maximise

    L(v) + sum over i of (alpha_i - 1) log v_i

where L is the summed log-likelihood of the pool and the second part a Dirichlet prior, absent by default. L
is concave in v for logarithmic and linear pools alike, and so is the prior for alpha >= 1: there is one
maximum.

By a held-out score, which is a step function of v: one member after the other gets other shares, the rest
keep their proportions; the best share stays, and the steps shrink. A search, without a promise to be the
best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import FieldcraftError, InputError

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
UNIFORM, LIKELIHOOD, HELD_OUT = "uniform", "likelihood", "held_out"
LEARNT = (LIKELIHOOD, HELD_OUT)
CLOSE = 1e-6  # to one
STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)  # of a share, for weights by a score
LEAST = 1e-12  # a share under a Dirichlet prior, whose logarithm must be finite


def given_weights(
    weights: Any, n: int, *, product: bool = False, unconstrained: bool = False
) -> Floats | None:
    """[n] the weights that the parameters of a pool state; None if they are to be learnt from data."""
    if product:
        if not (isinstance(weights, str) and weights == UNIFORM):
            raise InputError(f"weights={weights!r} with product=True: the weights of a product are all 1")
        return np.ones(n)
    if isinstance(weights, str):
        if weights in LEARNT:
            return None
        if weights != UNIFORM:
            raise InputError(f"weights={weights!r}; give numbers or one of {UNIFORM}, {', '.join(LEARNT)}")
        return np.full(n, 1.0 / n)
    return checked(weights, n, unconstrained=unconstrained)


def checked(weights: Any, n: int, *, unconstrained: bool = False) -> Floats:
    """[n] numbers, not negative and summing to one unless they are unconstrained."""
    try:
        vector = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"weights={weights!r}; give one number for each of the {n} members") from None
    if vector.shape != (n,) or not np.all(np.isfinite(vector)):
        raise InputError(f"weights={vector.tolist()}; give one finite number for each of the {n} members")
    if not unconstrained and (np.any(vector < 0) or abs(vector.sum() - 1.0) > CLOSE):
        raise InputError(
            f"weights={vector.tolist()}: they must not be negative and must sum to one, not to "
            f"{vector.sum():.6g}; pass unconstrained=True for others, product=True for weights of 1"
        )
    return vector


def resolve_dirichlet(dirichlet: Any, n: int) -> Floats:
    """[n] alpha of a Dirichlet prior; ones without."""
    try:
        alpha = np.broadcast_to(np.asarray(1.0 if dirichlet is None else dirichlet, np.float64), (n,))
    except (TypeError, ValueError):
        raise InputError(f"dirichlet={dirichlet!r}; give a number, or one for each of {n} members") from None
    if not np.all(np.isfinite(alpha)) or np.any(alpha < 1.0):
        raise InputError(f"dirichlet={dirichlet!r}; below 1 it has no maximum: give numbers of 1 or more")
    return alpha


def most_likely(likelihood: Objective, n: int, alpha: Floats, *, unconstrained: bool = False) -> Floats:
    """[n] the weights with the largest likelihood.

    Parameters
    ----------
    likelihood : weights -> (summed log-likelihood, its gradient)
    n : members
    alpha : [n] of the Dirichlet prior
    unconstrained : any numbers instead of those of the simplex
    """
    from scipy.optimize import minimize

    prior = alpha > 1.0
    if unconstrained and prior.any():
        raise InputError("dirichlet is a prior on weights that sum to one; leave out unconstrained=True")
    start = np.full(n, 1.0 / n)
    scale = max(1.0, abs(likelihood(start)[0]))

    def objective(v: Floats) -> tuple[float, Floats]:
        value, gradient = likelihood(v)
        inside = np.maximum(v, LEAST)
        value += float(np.sum((alpha - 1.0)[prior] * np.log(inside[prior])))
        return -value / scale, -(gradient + (alpha - 1.0) / inside * prior) / scale

    rules: dict[str, Any] = {"method": "BFGS", "options": {"gtol": 1e-9}}
    if not unconstrained:
        sum_to_one = {"type": "eq", "fun": lambda v: v.sum() - 1.0, "jac": lambda v: np.ones_like(v)}
        lowest = np.where(prior, LEAST, 0.0)
        rules = {"method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 500}, "constraints": [sum_to_one]}
        rules["bounds"] = [(low, 1.0) for low in lowest]
    found = minimize(objective, start, jac=True, **rules)
    if not np.all(np.isfinite(found.x)):
        raise FieldcraftError(f"the weights by likelihood are not finite ({found.message}); give weights")
    return np.asarray(found.x if unconstrained else _on_simplex(found.x))


def _on_simplex(weights: Floats) -> Floats:
    """Without rounding errors."""
    inside = np.where(weights > LEAST, weights, 0.0)
    return np.asarray(inside / inside.sum())


def best_scored(score: Callable[[Floats], float], n: int) -> Floats:
    """[n] weights with a good score, by coordinate search from uniform weights."""
    if n == 2:
        return _best_of_line(score)
    best = np.full(n, 1.0 / n)
    top = score(best)
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for member in range(n):
                for tried in _shares(best, member, step):
                    value = score(tried)
                    if value > top:
                        best, top, improved = tried, value, True
    return best


def _best_of_line(score: Callable[[Floats], float]) -> Floats:
    """Two weights: every twentieth, then every hundredth around the best; of equal ones the most even."""
    scores: dict[int, float] = {}

    def best(hundredths: Iterable[int]) -> int:
        for share in hundredths:
            if share not in scores:
                scores[share] = score(np.array([share, 100 - share]) / 100)
        return max(scores, key=lambda share: (scores[share], -abs(share - 50)))

    middle = best(range(0, 101, 5))
    share = best(range(max(middle - 4, 0), min(middle + 5, 101)))
    return np.array([share, 100 - share]) / 100


def _shares(weights: Floats, member: int, step: float) -> Sequence[Floats]:
    """The weights with a larger and with a smaller share for one member."""
    tried = []
    for share in (weights[member] + step, weights[member] - step):
        rest = 1.0 - weights[member]
        if not 0.0 <= share <= 1.0 + 1e-12:
            continue
        others = weights / rest if rest > 0 else np.full(len(weights), 1.0 / max(len(weights) - 1, 1))
        moved = others * (1.0 - min(share, 1.0))
        moved[member] = min(share, 1.0)
        tried.append(moved)
    return tried
