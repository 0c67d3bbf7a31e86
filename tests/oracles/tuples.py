"""Chains of any order by enumeration: scores of single labels, pairs, triples … and the labels allowed.

    score(y) = sum over t of node[t][y_t] + sum over n >= 2 of tuple_weights[y_{t-n+1} .. y_t]

Imports nothing from the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

Labels = tuple[str, ...]


def scored(
    node: Sequence[Mapping[str, float]],
    tuples: Mapping[Labels, float],
    longest: int,
    valid: Callable[[Labels], bool] = lambda labels: True,
) -> dict[Labels, float]:
    """The score of every valid labelling; tuples that are missing score 0."""
    out = {}
    for labels in product(node[0], repeat=len(node)) if node else [()]:
        if not valid(labels):
            continue
        parts = [node[t][y] for t, y in enumerate(labels)]
        for t in range(len(labels)):
            for n in range(2, longest + 1):
                if t + 1 >= n:
                    parts.append(tuples.get(labels[t + 1 - n : t + 1], 0.0))
        out[labels] = math.fsum(parts)
    return out


def distribution(scores: Mapping[Labels, float]) -> dict[Labels, float]:
    """Probabilities of scored labellings."""
    top = max(scores.values())
    total = math.fsum(math.exp(score - top) for score in scores.values())
    return {labels: math.exp(score - top) / total for labels, score in scores.items()}


def marginals(probabilities: Mapping[Labels, float], names: Sequence[str]) -> list[list[float]]:
    """[T][Y] the probability of each label at each position."""
    n = len(next(iter(probabilities)))
    return [
        [math.fsum(p for labels, p in probabilities.items() if labels[t] == name) for name in names]
        for t in range(n)
    ]
