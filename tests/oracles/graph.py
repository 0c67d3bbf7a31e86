"""Factor graphs by enumeration: every assignment is scored. Nothing of the package is imported.

A graph is a list of numbers of states and a list of factors (scope, function from states to a log-potential,
here a dict from tuples of states).
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

Factor = tuple[tuple[int, ...], dict[tuple[int, ...], float]]


class Answers(NamedTuple):
    """What enumeration says; ``ranked`` has all possible assignments, best first."""

    log_partition: float
    variables: list[list[float]]
    factors: list[dict[tuple[int, ...], float]]
    ranked: list[tuple[float, tuple[int, ...]]]


def score(factors: list[Factor], assignment: tuple[int, ...]) -> float:
    entries = [table[tuple(assignment[v] for v in scope)] for scope, table in factors]
    return -math.inf if -math.inf in entries else math.fsum(entries)


def answers(
    cardinalities: list[int], factors: list[Factor], observed: dict[int, int] | None = None
) -> Answers:
    seen = observed or {}
    choices = [[seen[v]] if v in seen else range(n) for v, n in enumerate(cardinalities)]
    scored = [(score(factors, x), x) for x in product(*choices)]
    possible = [(s, x) for s, x in scored if s != -math.inf]
    top = max(s for s, _ in possible)
    mass = [(math.exp(s - top), x) for s, x in possible]
    total = math.fsum(m for m, _ in mass)
    variables = [
        [math.fsum(m for m, x in mass if x[v] == state) / total for state in range(n)]
        for v, n in enumerate(cardinalities)
    ]
    tables = []
    for scope, table in factors:
        sums: dict[tuple[int, ...], list[float]] = {states: [] for states in table}
        for m, x in mass:
            sums[tuple(x[v] for v in scope)].append(m)
        tables.append({states: math.fsum(each) / total for states, each in sums.items()})
    ranked = sorted(possible, key=lambda row: (-row[0], row[1]))
    return Answers(top + math.log(total), variables, tables, ranked)
