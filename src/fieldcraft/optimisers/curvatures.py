"""How steeply the loss bends along each weight: what preconditioners divide by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.priors import Prior

Floats = NDArray[np.float64]
PIECE = 1 << 22  # attributes that are looked at together


def curvatures(design: Design, n_states: int, prior: Prior) -> Floats:
    """[F] the diagonal of the likelihood's Hessian at zero weights, and the prior's.

    There all labelings are alike and positions independent: a position with the feature's observation adds
    value^2 p (1 - p), p = 1 / labels, or 1 / labels^2 for a pair (pairs that share a token are taken for
    independent, which they are not quite).
    """
    index, encoded = design.index, design.encoded
    firsts = encoded.offsets[:-1][np.diff(encoded.offsets) > 0]  # tokens that no step leads to
    whole, without = _squares(encoded, index.n_attributes, firsts)
    without[-1] = len(design.gold) - len(firsts)  # features without attribute look at the last entry
    share = np.where(index.is_edge, 1.0 / n_states**2, 1.0 / n_states)
    mass = np.where(index.is_edge, without[index.attribute], whole[index.attribute])
    found: Floats = np.maximum(mass * share * (1.0 - share), 1e-3)
    quadratic = prior.quadratic_part(len(index))
    return found if quadratic is None else found + quadratic[1]


def crowd(design: Design) -> float:
    """How many features of one labeling meet in a token: its attributes, a transition in and one out.

    Moved together they may bend the loss so many times as much as the diagonal says.
    """
    return len(design.encoded.attributes) / max(len(design.gold), 1) + 2.0


def _squares(encoded: Encoded, n: int, firsts: NDArray[Any]) -> tuple[Floats, Floats]:
    """[A + 1] each: the sum of squared values of each attribute, over all tokens and without ``firsts``."""

    def summed(which: Any) -> Floats:
        squares = None if encoded.values is None else encoded.values[which] ** 2
        return np.bincount(encoded.attributes[which], squares, n + 1).astype(np.float64)

    whole = np.zeros(n + 1)
    for first in range(0, len(encoded.attributes), PIECE):
        whole += summed(slice(first, first + PIECE))
    begin, lengths = encoded.token_ptr[firsts], np.diff(encoded.token_ptr)[firsts]
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return whole, whole - summed(np.repeat(begin, lengths) + inside)


def metric_of(problem: Any) -> Floats | None:
    """[F] how far to step along each weight, up to a factor: 1 / sqrt(curvature); None where it is not known.

    The square root stands between one size for all and the curvature itself, which is that of zero weights
    and shrinks while they grow.
    """
    curved: Floats | None = getattr(problem, "curvatures", None)
    return None if curved is None else 1.0 / np.sqrt(curved)
