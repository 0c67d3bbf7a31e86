"""Opinion pools by enumeration: every labelling of a sequence is written down with its probability.

A model is a table of named weights: (attribute or None, previous label or None, label) -> weight. A token
is a list of attribute names. Plain Python and math.fsum only: nothing is shared with the package, nor with
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

Labelling = tuple[str, ...]
Distribution = dict[Labelling, float]
Table = Mapping[tuple[str | None, str | None, str], float]


def score(table: Table, tokens: Sequence[Sequence[str]], labels: Sequence[str]) -> float:
    """The sum of the weights that are active."""
    parts = []
    for t, (names, label) in enumerate(zip(tokens, labels)):
        parts += [table.get((name, None, label), 0.0) for name in names]
        if t > 0:
            pair = labels[t - 1], label
            parts += [table.get((name, *pair), 0.0) for name in [None, *names]]
    return math.fsum(parts)


def normalised(logs: Mapping[Labelling, float]) -> Distribution:
    """exp(log) / sum."""
    top = max(logs.values())
    weights = {y: math.exp(value - top) for y, value in logs.items()}
    total = math.fsum(weights.values())
    return {y: weight / total for y, weight in weights.items()}


def distribution(table: Table, tokens: Sequence[Sequence[str]], names: Sequence[str]) -> Distribution:
    """p(y | x) of one model."""
    every = product(names, repeat=len(tokens))
    return normalised({y: score(table, tokens, y) for y in every})


def log_pool(members: Sequence[Distribution], weights: Sequence[float]) -> Distribution:
    """The normalised weighted product."""
    return normalised(
        {y: math.fsum(v * math.log(p[y]) for v, p in zip(weights, members)) for y in members[0]}
    )


def linear_pool(members: Sequence[Distribution], weights: Sequence[float]) -> Distribution:
    """The weighted mean."""
    return {y: math.fsum(v * p[y] for v, p in zip(weights, members)) for y in members[0]}


def marginals(p: Distribution, names: Sequence[str]) -> list[dict[str, float]]:
    """p(y_t = y | x) for every position."""
    length = len(next(iter(p)))
    return [
        {name: math.fsum(value for y, value in p.items() if y[t] == name) for name in names}
        for t in range(length)
    ]


def per_position(rows: Sequence[Mapping[str, float]]) -> Distribution:
    """The product of one distribution per position."""
    return {y: math.prod(row[label] for row, label in zip(rows, y)) for y in product(*rows)}


def divergence(p: Distribution, q: Distribution) -> float:
    """K(p, q) in nats."""
    return math.fsum(value * math.log(value / q[y]) for y, value in p.items() if value > 0)


def entropy(p: Distribution) -> float:
    """In nats."""
    return -math.fsum(value * math.log(value) for value in p.values() if value > 0)


def mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return math.fsum(listed) / len(listed)
