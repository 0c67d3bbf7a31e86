"""How steeply the loss bends along each weight: what preconditioners divide by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.priors import Prior

Floats = NDArray[np.float64]


def curvatures(design: Design, n_states: int, prior: Prior) -> Floats:
    """[F] the diagonal of the likelihood's Hessian at zero weights, and the prior's.

    There all labelings are alike and positions independent: a position with the feature's observation adds
    value^2 p (1 - p), p = 1 / labels, or 1 / labels^2 for a pair (pairs that share a token are taken for
    independent, which they are not quite).
    """
    index, encoded = design.index, design.encoded
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    token_of = np.repeat(np.arange(len(design.gold)), np.diff(encoded.token_ptr))
    begins = np.zeros(len(design.gold), bool)
    begins[encoded.offsets[:-1][np.diff(encoded.offsets) > 0]] = True  # no step leads to a first token
    squares = [
        np.bincount(encoded.attributes, weights=values**2 * counted, minlength=index.n_attributes + 1)
        for counted in (np.ones(len(values)), ~begins[token_of])
    ]  # [A + 1] each; features without attribute look at the last entry
    squares[1][-1] = np.count_nonzero(~begins)
    share = np.where(index.is_edge, 1.0 / n_states**2, 1.0 / n_states)
    mass = np.where(index.is_edge, squares[1][index.attribute], squares[0][index.attribute])
    found: Floats = np.maximum(mass * share * (1.0 - share), 1e-3)
    quadratic = prior.quadratic_part(len(index))
    return found if quadratic is None else found + quadratic[1]


def metric_of(problem: Any) -> Floats | None:
    """[F] how far to step along each weight, up to a factor: 1 / sqrt(curvature); None where it is not known.

    The square root stands between one size for all and the curvature itself, which is that of zero weights
    and shrinks while they grow.
    """
    curved: Floats | None = getattr(problem, "curvatures", None)
    return None if curved is None else 1.0 / np.sqrt(curved)
