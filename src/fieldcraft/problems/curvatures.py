"""How steeply the loss bends along each weight: what preconditioners divide by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.priors import Prior
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
PIECE = 1 << 22  # attributes that are looked at together
LARGE_VALUES = 16.0  # from here on an attribute's values count as large


def curvatures(design: Design, structure: Structure, prior: Prior, reduce: Any = None) -> Floats:
    """[F] the diagonal of the likelihood's Hessian at zero weights, and the prior's.

    There all labellings are equally probable and positions independent: a position with the feature's
    observation adds value^2 p (1 - p), where 1 / p is the number of configurations of the feature's part:
    labels, or label pairs (pairs that share a token are treated as independent, which they are not quite).
    ``reduce`` adds up over processes (penalised.py), as in the other functions.
    """
    index, encoded = design.index, design.encoded
    firsts = encoded.offsets[:-1][np.diff(encoded.offsets) > 0]  # tokens that no step leads to
    whole, without = _squares(encoded, index.n_attributes, firsts)
    without[-1] = len(design.gold) - len(firsts)  # features without attribute look at the last entry
    for sums in () if reduce is None else (whole, without):
        reduce(0.0, sums)
    tables = structure.configurations()
    share = np.full(len(index), 1.0 / len(tables["node"]))
    share[index.is_edge] = 1.0 / len(tables.get("edge", [0]))
    mass = np.where(index.is_edge, without[index.attribute], whole[index.attribute])
    diagonal: Floats = np.maximum(mass * share * (1.0 - share), 1e-3)
    quadratic = prior.quadratic_part(len(index))
    return diagonal if quadratic is None else diagonal + quadratic[1]


def scales(design: Design, reduce: Any = None) -> Floats | None:
    """[F] the size of the values of each feature's attribute, a power of two; None if all are about 1.

    Sizes are root mean squares. Those below LARGE_VALUES count as 1.
    """
    index = design.index
    top = np.array([largest_value(design)[1]])
    if reduce is not None:
        reduce.largest(top)
    if top[0] <= LARGE_VALUES:
        return None
    values, attributes = np.abs(values_of(design.encoded)), design.encoded.attributes
    n = index.n_attributes + 1  # features without attribute look at the last entry
    largest = np.full(n, np.finfo(float).tiny)
    np.maximum.at(largest, attributes, values)
    if reduce is not None:
        reduce.largest(largest)
    squares = np.bincount(attributes, (values / largest[attributes]) ** 2, n)  # none overflows
    occurrences = np.bincount(attributes, minlength=n).astype(np.float64)
    for sums in () if reduce is None else (squares, occurrences):
        reduce(0.0, sums)
    sizes = largest * np.sqrt(squares / np.maximum(occurrences, 1))
    large = sizes > LARGE_VALUES
    if not large.any():
        return None
    found: Floats = np.where(large, np.exp2(np.round(np.log2(np.maximum(sizes, 1.0)))), 1.0)[index.attribute]
    return found


def largest_value(design: Design) -> tuple[int, float]:
    """The attribute with the largest value in the corpus, and that value."""
    values = design.encoded.values
    if values is None or not len(values):
        return -1, 1.0
    at = int(np.argmax(np.abs(values)))
    return int(design.encoded.attributes[at]), float(abs(values[at]))


def crowd(design: Design, reduce: Any = None) -> float:
    """How many features of one labelling meet in a token: its attributes, a transition in and one out.

    Moved together they may bend the loss so many times as much as the diagonal says.
    """
    n = np.array([len(design.encoded.attributes), len(design.gold)], np.float64)
    if reduce is not None:
        reduce(0.0, n)
    return float(n[0] / max(n[1], 1.0) + 2.0)


def values_of(encoded: Encoded) -> Floats:
    """[nnz] the values, also where all of them are 1."""
    return np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values


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
