"""Scores as quotients of sums over sequences, and bootstrap intervals of their difference.

    score = sum of above_i / sum of below_i        (span F: above = 2 correct, below = gold + predicted)

The bootstrap draws N sequences with replacement, many times; each draw is a vector of how often a sequence
was drawn, and the sums are products with it. The interval covers the middle ``level`` of the differences.

Layout: ``Quotient.above``, ``below`` [N], one entry per sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.evaluation.labellings import Encoded
from fieldcraft.evaluation.span_scorer import SpanCounts, SpanScorer

Floats = NDArray[np.float64]


class Quotient(NamedTuple):
    """The terms of each sequence in numerator and denominator."""

    above: Floats
    below: Floats

    def score(self) -> float:
        """Over all sequences."""
        return float(_divided(self.above.sum(), self.below.sum()))


def errors_by_sequence(encoded: Encoded) -> NDArray[np.int64]:
    """[N] wrong tokens."""
    before = np.concatenate(([0], np.cumsum(encoded.gold != encoded.predicted)))  # [tokens + 1]
    return np.asarray(np.diff(before[encoded.offsets]), np.int64)


def _tokens(encoded: Encoded, scheme: str, mode: str) -> Quotient:
    del scheme, mode
    lengths = np.diff(encoded.offsets).astype(np.float64)
    return Quotient(lengths - errors_by_sequence(encoded), lengths)


def _sequences(encoded: Encoded, scheme: str, mode: str) -> Quotient:
    del scheme, mode
    right = (errors_by_sequence(encoded) == 0).astype(np.float64)
    return Quotient(right, np.ones(len(right)))


def _spans(quotient: Callable[[SpanCounts], tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Counter:
    def of(encoded: Encoded, scheme: str, mode: str) -> Quotient:
        scorer = SpanScorer(encoded.names, scheme, mode)
        above, below = quotient(scorer.counts_by_sequence(*encoded[1:]))
        return Quotient(above.astype(np.float64), below.astype(np.float64))

    return of


Counter = Callable[[Encoded, str, str], Quotient]
_F = _spans(lambda n: (2 * n.correct, n.gold + n.predicted))
QUOTIENTS: Mapping[str, Counter] = {
    "token_accuracy": _tokens,
    "sequence_accuracy": _sequences,
    "span_f": _F,
    "span_f1": _F,
    "span_precision": _spans(lambda n: (n.correct, n.predicted)),
    "span_recall": _spans(lambda n: (n.correct, n.gold)),
}


def quotient(metric: str, encoded: Encoded, scheme: str, mode: str) -> Quotient:
    """A metric by name, sequence by sequence."""
    if metric not in QUOTIENTS:
        raise InputError(f"metric={metric!r} is not a quotient of sums; use auto or {', '.join(QUOTIENTS)}")
    return QUOTIENTS[metric](encoded, scheme, mode)


def interval(a: Quotient, b: Quotient, *, resamples: int, level: float, seed: int) -> tuple[float, float]:
    """Between which the score of b minus that of a lies in ``level`` of the resamples."""
    if not (isinstance(resamples, (int, np.integer)) and resamples >= 1):
        raise InputError(f"resamples is {resamples!r}; it must be a whole number >= 1")
    if not (isinstance(seed, (int, np.integer)) and seed >= 0):
        raise InputError(f"seed is {seed!r}; it must be a whole number >= 0")
    if not 0.0 < level < 1.0:
        raise InputError(f"level is {level!r}; it must lie between 0 and 1, e.g. 0.95")
    columns = np.stack([*a, *b], axis=1)  # [N, 4]
    n, rng = len(columns), np.random.default_rng(seed)
    sums = np.empty((resamples, 4))
    for row in sums:
        times = np.bincount(rng.integers(0, n, n, dtype=np.int32), minlength=n) if n else np.zeros(0)
        row[:] = times @ columns
    differences = _divided(sums[:, 2], sums[:, 3]) - _divided(sums[:, 0], sums[:, 1])
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def _divided(above: Floats | float, below: Floats | float) -> Floats:
    """A quotient; 0 if the denominator is 0."""
    return np.asarray(above / np.where(np.asarray(below) == 0, 1.0, below), np.float64)
