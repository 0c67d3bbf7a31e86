"""Factorial chains by enumeration: every labelling of every column, scored from the tables by name.

Imports nothing from the package. Tables: ``node[c][t][y]``, ``edge[c][y][z]``, and by pairs of columns
``pair``, ``cross`` (label before of the first, label now of the second) and ``step`` (two labels of the
first, label now of the second).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

Labelling = tuple[tuple[int, ...], ...]  # [T][C]


def score(y: Labelling, tables: dict[str, Any]) -> float:
    """The sum of all terms."""
    terms = []
    for t, now in enumerate(y):
        terms += [tables["node"][c][t][label] for c, label in enumerate(now)]
        terms += [table[now[c]][now[d]] for (c, d), table in tables["pair"].items()]
        if t == 0:
            continue
        before = y[t - 1]
        terms += [tables["edge"][c][before[c]][label] for c, label in enumerate(now)]
        terms += [table[before[c]][now[d]] for (c, d), table in tables["cross"].items()]
        terms += [table[before[c]][now[c]][now[d]] for (c, d), table in tables["step"].items()]
    return math.fsum(terms)


def labellings(sizes: list[int], T: int) -> list[Labelling]:
    """All of them."""
    token = list(itertools.product(*(range(n) for n in sizes)))
    return list(itertools.product(token, repeat=T))


def probabilities(sizes: list[int], T: int, tables: dict[str, Any]) -> tuple[float, dict[Labelling, float]]:
    """log Z and the probability of every labelling."""
    scores = {y: score(y, tables) for y in labellings(sizes, T)}
    high = max(scores.values())
    total = math.fsum(math.exp(s - high) for s in scores.values())
    return high + math.log(total), {y: math.exp(s - high) / total for y, s in scores.items()}
