"""Beams by enumeration: which states a beam keeps, the paths within it, and a bound on the others.

Scores are lists: node[t][s]; edge[x][y], or edge[t][x][y] for the step to t. -inf forbids.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

Row = Sequence[float]


def kept(numbers: Row, states: int, mass: float, always: Sequence[int] = ()) -> list[int]:
    """The states that a beam keeps, of those whose number is not 0."""
    there = [s for s in range(len(numbers)) if numbers[s] > 0]
    ranked = sorted(there, key=lambda s: (-numbers[s], s))
    if states:
        chosen = ranked[:states]
    else:
        total = math.fsum(numbers)
        chosen = list(ranked)
        while len(chosen) > 1 and total - math.fsum(numbers[s] for s in chosen[:-1]) <= (1 - mass) * total:
            chosen.pop()
    return sorted({*chosen, *(s for s in always if s in there)})


def score(path: Sequence[int], node: Sequence[Row], step: Callable[[int, int, int], float]) -> float:
    """The score of a path from the first position on."""
    first = node[0][path[0]]
    return first + sum(step(t, path[t - 1], path[t]) + node[t][path[t]] for t in range(1, len(path)))


def layers(
    node: Sequence[Row],
    step: Callable[[int, int, int], float],
    states: int,
    mass: float,
    always: Sequence[Sequence[int]] = (),
    best: bool = False,
) -> list[list[int]]:
    """The states kept at each position: by the sums over prefixes within the beam, or by their best."""
    S, found = len(node[0]), list[list[int]]()
    for t in range(len(node)):
        numbers = []
        for s in range(S):
            prefixes = [math.exp(score((*path, s), node, step)) for path in itertools.product(*found)]
            numbers.append(max(prefixes) if best else math.fsum(prefixes))
        last = t == len(node) - 1 and best  # the best of the last position needs no beam
        found.append(list(range(S)) if last else kept(numbers, states, mass, always[t] if always else ()))
    return found


def partition(
    node: Sequence[Row], step: Callable[[int, int, int], float], within: Sequence[Sequence[int]]
) -> float:
    """log Z over the paths within layers of states."""
    return math.log(math.fsum(math.exp(score(path, node, step)) for path in itertools.product(*within)))


def bound(
    node: Sequence[Row], step: Callable[[int, int, int], float], within: Sequence[Sequence[int]]
) -> float:
    """At least the share of the paths outside: suffixes of dropped states take their largest step."""
    S, T = len(node[0]), len(node)
    up = [1.0] * S
    outside = []
    for t in range(T - 1, -1, -1):
        for s in set(range(S)) - set(within[t]):
            prefixes = [math.exp(score((*path, s), node, step)) for path in itertools.product(*within[:t])]
            outside.append(math.fsum(prefixes) * up[s])
        if t == 0:
            break
        here = [math.exp(node[t][y]) * up[y] for y in range(S)]
        beyond = math.fsum(
            max(math.exp(step(t, x, y)) for x in range(S)) * here[y] for y in set(range(S)) - set(within[t])
        )
        up = [beyond + math.fsum(math.exp(step(t, x, y)) * here[y] for y in within[t]) for x in range(S)]
    ratio = math.fsum(outside) / math.exp(partition(node, step, within))
    return ratio / (1 + ratio)
