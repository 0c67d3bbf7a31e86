"""The log-likelihood of a pool as a function of its members' weights v, with its gradient.

Logarithmic, per sequence: with the scores s_i of the members, log p(y | x) = sum_i v_i s_i(y) - log Z(v),
hence

    d/dv_i = s_i(gold) - E_pool[s_i]

which is the likelihood's gradient in the weights of the collapsed model times the members' weights: one
forward-backward. Per position the same with the members' log marginals as scores. Linear pools: d/dv_i is the
sum of p_i / p over what is predicted, whole labellings or labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.models.held_out import HeldOut
from fieldcraft.pools.combining import Combined
from fieldcraft.pools.mixture import log_mean
from fieldcraft.pools.positions import pooled
from fieldcraft.pools.weights import Objective
from fieldcraft.priors import resolve_prior
from fieldcraft.problems import build

Floats = NDArray[np.float64]


def known_gold(data: HeldOut, classes: Sequence[str]) -> NDArray[np.int32]:
    """[tokens] the labels; InputError if the members do not know one of them."""
    strange = np.flatnonzero(data.gold >= len(classes))
    if len(strange):
        at = int(strange[0])
        sequence = int(np.searchsorted(data.encoded.offsets, at, side="right")) - 1
        token = at - int(data.encoded.offsets[sequence])
        raise InputError(
            f"sequence {sequence}, token {token}: the members do not know the label "
            f"{data.names[data.gold[at]]!r}, so that it has no likelihood; leave the sequence out"
        )
    return data.gold


def sequence_likelihood(combined: Combined, data: HeldOut, n_jobs: int) -> Objective:
    """Of a logarithmic pool per sequence."""
    design = Design(data.encoded, known_gold(data, combined.classes), combined.index)
    structure = combined.structure.using(n_jobs)
    problem = build(structure, "gradient", design, resolve_prior(None), n_jobs=n_jobs)
    slope = np.empty(len(combined.index))

    def objective(weights: Floats) -> tuple[float, Floats]:
        value = problem.value_and_gradient(np.ascontiguousarray(weights @ combined.weights), slope)
        return -value, -(combined.weights @ slope)

    return objective


def position_likelihood(logs: Sequence[Floats], gold: NDArray[np.int32]) -> Objective:
    """Of a logarithmic pool per position, from the members' log marginals [tokens, Y]."""
    at = np.arange(len(gold)), gold

    def objective(weights: Floats) -> tuple[float, Floats]:
        log_p = pooled(logs, weights, linear=False)
        p = np.exp(log_p)
        expected = [float(np.sum(np.where(p > 0, p * own, 0.0))) for own in logs]
        gradient = [float(own[at].sum()) - mean for own, mean in zip(logs, expected)]
        return float(log_p[at].sum()), np.array(gradient)

    return objective


def mixture_likelihood(logs: Floats) -> Objective:
    """Of a linear pool, from the members' log-probabilities [n, rows] of what is observed."""

    def objective(weights: Floats) -> tuple[float, Floats]:
        whole = log_mean(logs, weights)
        return float(whole.sum()), np.exp(logs - whole).sum(axis=1)

    return objective
