"""The matched-pairs test: whether two labellings of the same data differ by more than chance.

By sequence, whose errors are taken to be independent of one another's (Gillick and Cox 1989):

    Z_i = errors of a - errors of b in sequence i        W = mean(Z) / (deviation(Z) / sqrt(N))

W is normal for N > 50 if neither is better. For fewer sequences each Z_i is as likely to have the other sign,
and all 2^N choices of signs are counted (grouped by their sum, which is quick). By token,
McNemar's test: of the tokens that one of them alone has right, half would be a's; that is binomial, exact
for any number.

Hazard: tokens of a sequence are not independent, so the test by token is too optimistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer[Any]]
FEW = 50  # sequences up to which no sum is taken to be normal


@dataclass(frozen=True)
class MatchedPairs:
    """A test and its outcome. Each p is the chance of such a difference, or a larger one, between equals.

    Parameters
    ----------
    unit : what was paired: "sequence" or "token"
    n : how many there are
    differing : in how many a and b have different numbers of errors
    two_sided : p against "they differ"
    a_better, b_better : p against "a makes fewer errors", "b makes fewer errors" (one-sided)
    method : "exact" or "normal"
    """

    unit: str
    n: int
    differing: int
    two_sided: float
    a_better: float
    b_better: float
    method: str


def by_sequence(errors_a: Counts, errors_b: Counts) -> MatchedPairs:
    """From the numbers of wrong tokens in each sequence [N]."""
    z = np.asarray(errors_a, np.int64) - np.asarray(errors_b, np.int64)
    method = "exact" if len(z) <= FEW else "normal"
    below, above = _TAILS[method](z)
    return _tested("sequence", z, below, above, method)


def by_token(right_a: NDArray[np.bool_], right_b: NDArray[np.bool_]) -> MatchedPairs:
    """From which tokens are right [tokens]."""
    z = np.asarray(right_b, np.int64) - np.asarray(right_a, np.int64)
    only_a, only_b = int(np.sum(z < 0)), int(np.sum(z > 0))
    return _tested("token", z, _at_least(only_a, only_b), _at_least(only_b, only_a), "exact")


def _tested(unit: str, z: NDArray[np.int64], below: float, above: float, method: str) -> MatchedPairs:
    """``below`` and ``above``: the chance of a sum of z at most, and at least, as large as it is."""
    two_sided = min(1.0, 2 * min(below, above))
    return MatchedPairs(unit, len(z), int(np.count_nonzero(z)), two_sided, below, above, method)


def _normal_tails(z: NDArray[np.int64]) -> tuple[float, float]:
    deviation = float(np.std(z, ddof=1))
    mean = float(np.mean(z))
    if deviation == 0.0:  # all differences are equal, which has probability 0 under the null hypothesis
        return float(mean >= 0), float(mean <= 0)
    w = mean / (deviation / math.sqrt(len(z)))
    return math.erfc(-w / math.sqrt(2)) / 2, math.erfc(w / math.sqrt(2)) / 2


def _exact_tails(z: NDArray[np.int64]) -> tuple[float, float]:
    """Each z with a random sign: the chances of all sums, one z after the other."""
    sizes = np.abs(z[z != 0]).tolist()
    middle = sum(sizes)
    chance = np.zeros(2 * middle + 1)  # of the sum k - middle
    chance[middle] = 1.0
    for size in sizes:
        moved = np.zeros_like(chance)
        moved[size:] += chance[: len(chance) - size] / 2
        moved[: len(chance) - size] += chance[size:] / 2
        chance = moved
    at = middle + int(z.sum())
    return float(chance[: at + 1].sum()), float(chance[at:].sum())


_TAILS = {"exact": _exact_tails, "normal": _normal_tails}


def _at_least(k: int, others: int) -> float:
    """The chance of k or more heads in k + others tosses."""
    from scipy.special import betainc

    return 1.0 if k == 0 else float(betainc(k, others + 1, 0.5))
