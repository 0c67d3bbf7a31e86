"""The structured margin by enumeration: every labelling of every sequence is a constraint of one programme.

    minimise   sum of precision (w - mean)^2 / 2 + sum of c_i slack_i
    so that    slack_i >= cost(y) + <w, counts(y) - counts(gold)>      for every labelling y of sequence i

Features are given as a table {(attribute, previous, label): number}, -1 for "no attribute" and "no previous
label". Nothing is shared with the package. Cost is S**T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]
Tokens = Sequence[Mapping[int, float]]  # attribute -> value, token by token
Table = Mapping[tuple[int, int, int], int]


class Constraints(NamedTuple):
    """Of one sequence: a row per labelling, the gold one among them."""

    counts: Floats  # [L, F] counts(y) - counts(gold)
    costs: Floats  # [L]


def counts(tokens: Tokens, labels: Sequence[int], table: Table, n: int) -> Floats:
    """[F] how often, or by how much, each feature occurs."""
    out = np.zeros(n)
    for t, (attributes, y) in enumerate(zip(tokens, labels)):
        before = labels[t - 1] if t else -1
        for previous in {-1, before}:
            for attribute, value in [*attributes.items(), (-1, 1.0)]:
                f = table.get((attribute, previous, y))
                if f is not None and (attribute, previous) != (-1, -1):
                    out[f] += value
    return out


def constraints(tokens: Tokens, gold: Sequence[int], table: Table, n: int, cost: Floats) -> Constraints:
    """All labelings of one sequence."""
    right = counts(tokens, gold, table, n)
    rows, costs = [], []
    for labels in product(range(len(cost)), repeat=len(tokens)):
        rows.append(counts(tokens, labels, table, n) - right)
        costs.append(sum(cost[g, y] for g, y in zip(gold, labels)))
    return Constraints(np.array(rows).reshape(-1, n), np.array(costs))


def objective(
    weights: Floats, corpus: Sequence[Constraints], c: Floats, mean: Floats, precision: Floats
) -> float:
    """P(w)."""
    slack = [np.max(one.costs + one.counts @ weights) for one in corpus]
    return float(c @ slack + np.sum(precision * (weights - mean) ** 2) / 2)


def minimum(
    corpus: Sequence[Constraints], c: Floats, mean: Floats, precision: Floats
) -> tuple[float, Floats]:
    """The least P, and the weights there."""
    n, m = len(mean), len(corpus)
    left = np.vstack(
        [np.hstack([-one.counts, np.tile(np.eye(m)[i], (len(one.costs), 1))]) for i, one in enumerate(corpus)]
    )
    right = np.concatenate([one.costs for one in corpus])

    def value(x: Floats) -> float:
        return float(c @ x[n:] + np.sum(precision * (x[:n] - mean) ** 2) / 2)

    def slope(x: Floats) -> Floats:
        return np.concatenate([precision * (x[:n] - mean), c])

    start = np.concatenate([mean, [np.max(one.costs + one.counts @ mean) for one in corpus]])
    found = minimize(
        value,
        start,
        jac=slope,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda x: left @ x - right, "jac": lambda x: left}],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return objective(found.x[:n], corpus, c, mean, precision), found.x[:n]
