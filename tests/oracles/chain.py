"""Linear chains by enumeration: every labelling is written down, scored and added up.

    score(y) = sum_t node[t][y_t] + sum_{t>0} edge[t][e(y_{t-1}, y_t)]

A labelling that starts in a state that may not start, stops in one that may not stop, or takes a
step that is no transition is forbidden (-inf, left out), and so is one with a part of -inf.
The one labelling of an empty sequence is the empty one, with score 0.

Plain Python and math.fsum only: nothing is shared with the package, nor with NumPy. Cost is S**T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

Path = tuple[int, ...]
FORBIDDEN = -math.inf


class Chain(NamedTuple):
    """One sequence and its state space; nested tuples can be hashed, so results can be kept."""

    node: tuple[tuple[float, ...], ...]  # [T][S]
    edge: tuple[tuple[float, ...], ...]  # [T][E]; row t is the step from t-1 to t, row 0 is ignored
    transitions: tuple[tuple[int, int], ...]  # [E] (from, to)
    starts: tuple[bool, ...]  # [S]
    stops: tuple[bool, ...]  # [S]


@lru_cache(maxsize=64)
def numbering(transitions: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], int]:
    """(from, to) -> e."""
    return {step: e for e, step in enumerate(transitions)}


def score(chain: Chain, path: Sequence[int]) -> float:
    """The unnormalised score of one labelling, -inf where it is forbidden."""
    if not path:
        return 0.0
    if not (chain.starts[path[0]] and chain.stops[path[-1]]):
        return FORBIDDEN
    number = numbering(chain.transitions)
    parts = [chain.node[t][y] for t, y in enumerate(path)]
    for t in range(1, len(path)):
        e = number.get((path[t - 1], path[t]))
        parts.append(FORBIDDEN if e is None else chain.edge[t][e])
    return FORBIDDEN if FORBIDDEN in parts else math.fsum(parts)


@lru_cache(maxsize=16)
def labelings(chain: Chain) -> tuple[tuple[Path, float], ...]:
    """Every labelling of finite score, with its score."""
    everything = product(range(len(chain.starts)), repeat=len(chain.node))
    scored = ((path, score(chain, path)) for path in everything)
    return tuple((path, value) for path, value in scored if value > FORBIDDEN)


@lru_cache(maxsize=16)
def log_partition(chain: Chain) -> float:
    """log of the sum of exp(score) over the labelings."""
    values = [value for _, value in labelings(chain)]
    if not values:
        return FORBIDDEN
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


@lru_cache(maxsize=16)
def distribution(chain: Chain) -> dict[Path, float]:
    """The probability of every labelling of finite score."""
    scored = labelings(chain)
    top = max(value for _, value in scored)
    weights = {path: math.exp(value - top) for path, value in scored}
    total = math.fsum(weights.values())
    return {path: weight / total for path, weight in weights.items()}


def node_marginals(chain: Chain) -> list[list[float]]:
    """[T][S] probability of state s at position t."""
    n_states = len(chain.starts)
    terms: list[list[list[float]]] = [[[] for _ in range(n_states)] for _ in chain.node]
    for path, probability in distribution(chain).items():
        for t, y in enumerate(path):
            terms[t][y].append(probability)
    return [[math.fsum(cell) for cell in row] for row in terms]


def edge_marginals(chain: Chain) -> list[list[float]]:
    """[T][E] probability of transition e between t-1 and t; row 0 is zero."""
    number = numbering(chain.transitions)
    terms: list[list[list[float]]] = [[[] for _ in chain.transitions] for _ in chain.node]
    for path, probability in distribution(chain).items():
        for t in range(1, len(path)):
            terms[t][number[path[t - 1], path[t]]].append(probability)
    return [[math.fsum(cell) for cell in row] for row in terms]


def argmax(chain: Chain) -> tuple[Path, float]:
    """The best labelling; of equals the one with the lowest last state, then last but one"""
    top = max(value for _, value in labelings(chain))
    equals = [path for path, value in labelings(chain) if value == top]
    return min(equals, key=lambda path: path[::-1]), top


def k_best(chain: Chain, k: int) -> list[tuple[Path, float]]:
    """The k best labelings, best first, fewer if there are fewer; ties as in argmax."""
    return sorted(labelings(chain), key=lambda item: (-item[1], item[0][::-1]))[:k]


def entropy(chain: Chain) -> float:
    """Entropy of the distribution over labelings, in nats."""
    probabilities = distribution(chain).values()
    return math.fsum(-p * math.log(p) for p in probabilities if p > 0.0)


def range_probability(chain: Chain, allowed: Sequence[Sequence[bool]]) -> float:
    """Probability that at every position t the state lies in the set allowed[t] ([T][S])."""
    return math.fsum(
        probability
        for path, probability in distribution(chain).items()
        if all(allowed[t][y] for t, y in enumerate(path))
    )
