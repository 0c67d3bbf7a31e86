"""Chains with a Gaussian prior, as the dual methods need them.

    primal   P(w) = sum of c_i loss_i(w) + sum of precision (w - mean)^2 / 2
    dual     D(q) = sum of c_i term_i(q_i) - sum of precision v (mean + v / 2),     w = mean + v(q)

with a distribution q_i over the labellings of each sequence, of which w is a function
(native/dual_point.hpp); term_i is the expected cost for the margin and the entropy for the likelihood.
D <= P everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import InputError
from fieldcraft.priors import Prior
from fieldcraft.problems.chain import NativeChain
from fieldcraft.problems.penalised import Pair
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
OBSERVES = ("dual_ascent",)  # can learn features of label pairs that look at the input


class ChainDual(NativeChain):
    """The margin (also where no objective is chosen) or the likelihood, with a penalty on every weight."""

    by_sequence = True
    by_planes = False

    def __init__(self, structure: Structure, design: Design, prior: Prior, **options: Any) -> None:
        self.gaussian = gaussian_of(prior, len(design.index))
        super().__init__(structure, design, prior, **options)
        self.mean, self.precision, self.constant = masked(self.gaussian, self.mask, self.n_variables)
        self.crowd = _crowd(design, self.mask, self._sequence_weights)
        self.sharing = _sharing(design)
        self.n_entries = edge_entries(design)
        self.costs: Floats | None = None  # [S, S] label weights included; None for the likelihood
        objective = options.get("objective")
        if objective is None or objective.name == "margin":
            n, given = structure.n_states, self._costs
            plain = 1.0 - np.eye(n) if given is None else np.ascontiguousarray(given, np.float64)
            self._native.use("margin", self._gold, plain, self._label_weights, None)
            each = 1.0 if self._label_weights is None else np.asarray(self._label_weights)[:, None]
            self.costs = plain * each

    def pieces(self, optimiser: str) -> tuple[Any, Any, Floats, Floats]:
        """Arguments of the core's dual methods."""
        if self.looks_at_edges and optimiser not in OBSERVES:
            raise InputError(
                f"{optimiser} is not for features of label pairs that look at the input; "
                "leave edge_prefix out, or use optimiser='cutting_plane' or 'subgradient'"
            )
        mean, precision = map(np.ascontiguousarray, (self.mean, self.precision))
        return self._native, self._gold, mean, precision


def edge_entries(design: Design) -> int:
    """How often features of label pairs that look at the input occur, over all tokens and label pairs."""
    index = design.index
    edge = index.is_edge & (index.attribute >= 0)
    if not np.any(edge):
        return 0
    each = np.bincount(index.attribute[edge], minlength=index.n_attributes)  # [A] pairs of an attribute
    return int(np.sum(each[design.encoded.attributes]))


def gaussian_of(prior: Prior, n: int) -> Pair:
    """(mean, precision) of a prior that has nothing else; InputError for others."""
    parts = prior.quadratic_part(n)
    if parts is None or np.any(parts[1] <= 0) or prior.l1_part(n) is not None:
        raise InputError(
            f"{type(prior).__name__}: a dual needs a Gaussian penalty on every weight and nothing else; "
            "use prior=Gaussian(variance=...) with finite variances"
        )
    return parts


def masked(gaussian: Pair, mask: NDArray[np.bool_] | None, n: int) -> tuple[Floats, Floats, float]:
    """Mean and precision [F], infinitely precise at 0 where masked, and the penalty that this leaves out.

    Without a mask they are views, which take no memory where one number serves all weights.
    """
    if mask is None:
        mean, precision = (np.broadcast_to(part, n) for part in gaussian)
        return mean, precision, 0.0
    mean, precision = (np.array(np.broadcast_to(part, n)) for part in gaussian)
    constant = float(np.sum(precision[~mask] * mean[~mask] ** 2) / 2)
    mean[~mask], precision[~mask] = 0.0, np.inf
    return mean, precision, constant


def _crowd(design: Design, mask: NDArray[np.bool_] | None, sequence_weights: Floats | None) -> float:
    """Squared values of a token's features that may move, the two of its label pairs included, on average.

    Times the mean weight of a token's sequence: the loss of twice as many tokens is twice as steep.
    """
    encoded = design.encoded
    total = len(encoded.attributes) if encoded.values is None else float(np.sum(np.square(encoded.values)))
    tokens = max(len(design.gold), 1)
    share = 1.0 if mask is None else float(np.mean(mask)) if len(mask) else 1.0
    heavy = 1.0
    if sequence_weights is not None and len(design.gold):
        heavy = float(np.dot(sequence_weights, np.diff(encoded.offsets))) / tokens
    return (total / tokens + 2.0) * share * heavy


def _sharing(design: Design) -> float:
    """The part of a token's attributes that another token has too, on average; those in the index alone."""
    index, tokens = design.index, max(len(design.gold), 1)
    of_nodes = (index.attribute >= 0) & ~index.is_edge
    counts = np.bincount(index.attribute[of_nodes], index.count[of_nodes])  # [A] tokens with each attribute
    met = float(np.sum(np.square(counts))) / tokens
    return met / max(float(np.sum(counts)), met, 1.0)
