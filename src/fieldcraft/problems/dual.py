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
from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.priors import Prior
from fieldcraft.problems.chain import looks_at_edges, native_problem
from fieldcraft.problems.penalised import Pair, Penalised, Reduce
from fieldcraft.structures.linear_chain import LinearChain

Floats = NDArray[np.float64]


class ChainDual(Penalised):
    """The margin or the likelihood with a quadratic penalty on every weight.

    Parameters
    ----------
    structure, design, prior, costs, label_weights, sequence_weights, mask : as for ChainProblem
    objective : "margin" (None too) or "likelihood"
    """

    def __init__(
        self,
        structure: LinearChain,
        design: Design,
        prior: Prior,
        *,
        objective: Any = None,
        costs: Floats | None = None,
        label_weights: Floats | None = None,
        sequence_weights: Floats | None = None,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
        reduce: Reduce | None = None,
        curved: bool = False,
    ) -> None:
        del curved
        n, n_states = len(design.index), structure.n_states
        self.gaussian = _quadratic(prior, n)
        super().__init__(n, prior, mask=mask, n_jobs=n_jobs, reduce=reduce)
        self.mean, self.precision, self.constant = _masked(self.gaussian, mask, n)
        self.n_sequences = design.n_sequences
        self.sizes = (len(design.gold), design.n_sequences, n_states)
        self._gold = design.gold
        self._looks_at_edges = looks_at_edges(design)
        self._native = native_problem(structure, design, sequence_weights, n_jobs)
        self.costs: Floats | None = None  # [S, S] label weights included; None for the likelihood
        if objective is None or objective.name == "margin":
            plain = 1.0 - np.eye(n_states) if costs is None else np.ascontiguousarray(costs, np.float64)
            self._native.use("margin", design.gold, plain, label_weights, None)
            self.costs = plain if label_weights is None else plain * np.asarray(label_weights)[:, None]

    def loss(self, weights: Floats, gradient: Floats) -> float:
        return float(self._native.evaluate(weights, gradient, None))

    def overflow(self, weights: Floats) -> FieldcraftError:
        del weights
        return FieldcraftError(
            "the loss is not finite at the prior's means; scale the features, or the means"
        )

    def pieces(self, optimiser: str) -> tuple[Any, Any, Floats, Floats]:
        """What the core's dual methods are made of."""
        if self._looks_at_edges:
            raise InputError(
                f"{optimiser} is not for features of label pairs that look at the input; "
                "leave edge_prefix out, or use optimiser='cutting_plane' or 'subgradient'"
            )
        return self._native, self._gold, self.mean, self.precision


def _quadratic(prior: Prior, n: int) -> Pair:
    parts = prior.quadratic_part(n)
    if parts is None or np.any(parts[1] <= 0) or prior.l1_part(n) is not None:
        raise InputError(
            f"{type(prior).__name__}: a dual needs a Gaussian penalty on every weight and nothing else; "
            "use prior=Gaussian(variance=...) with finite variances"
        )
    return parts


def _masked(gaussian: Pair, mask: NDArray[np.bool_] | None, n: int) -> tuple[Floats, Floats, float]:
    """Mean and precision [F], infinitely precise at 0 where masked, and the penalty that this leaves out."""
    mean, precision = (np.array(np.broadcast_to(part, n)) for part in gaussian)
    if mask is None:
        return mean, precision, 0.0
    constant = float(np.sum(precision[~mask] * mean[~mask] ** 2) / 2)
    mean[~mask], precision[~mask] = 0.0, np.inf
    return mean, precision, constant
