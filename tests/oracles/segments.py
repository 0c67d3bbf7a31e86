"""Semi-Markov chains by enumeration: every segmentation is written down, scored and added up.

A segmentation is a tuple of (type, length); type x has segments of at most longest[x] tokens. Its states have
the number x at a segment's first token and ``later[x]`` at the others, where ``later`` numbers the types with
more than one token from K on, in order.

    score = sum_t node[t][state_t] + sum_{t>0} edge[t][(state_{t-1}, state_t)] + sum over segments of
            segment[last token][x][length - 1]

Plain Python and math.fsum only: nothing is shared with the package, nor with NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

FORBIDDEN = -math.inf
Segmentation = tuple[tuple[int, int], ...]
Part = tuple[object, ...]


class SemiMarkov(NamedTuple):
    """One sequence; nested tuples can be hashed, so results can be kept."""

    node: tuple[tuple[float, ...], ...]  # [T][S]
    edge: tuple[tuple[tuple[float, ...], ...], ...]  # [T][S][S]; row 0 is ignored
    segment: tuple[tuple[tuple[float, ...], ...], ...]  # [T][K][longest[x]]
    longest: tuple[int, ...]  # [K]


def segmentations(length: int, longest: tuple[int, ...]) -> Iterator[Segmentation]:
    """All of a sequence of this length."""
    if length == 0:
        yield ()
        return
    for x, most in enumerate(longest):
        for d in range(1, min(most, length) + 1):
            for rest in segmentations(length - d, longest):
                yield ((x, d), *rest)


def states(of: Segmentation, longest: tuple[int, ...]) -> tuple[int, ...]:
    """The state of each token."""
    several = [x for x, most in enumerate(longest) if most > 1]
    later = {x: len(longest) + i for i, x in enumerate(several)}
    return tuple(x if i == 0 else later[x] for x, d in of for i in range(d))


def parts(chain: SemiMarkov, of: Segmentation) -> list[tuple[Part, float]]:
    """The parts of a segmentation with their scores."""
    path = states(of, chain.longest)
    found: list[tuple[Part, float]] = [(("node", t, y), chain.node[t][y]) for t, y in enumerate(path)]
    for t in range(1, len(path)):
        found.append((("edge", t, path[t - 1], path[t]), chain.edge[t][path[t - 1]][path[t]]))
    end = -1
    for x, d in of:
        end += d
        found.append((("segment", end, x, d), chain.segment[end][x][d - 1]))
    return found


@lru_cache(maxsize=16)
def scored(chain: SemiMarkov) -> tuple[tuple[Segmentation, float], ...]:
    """Every segmentation of finite score, with its score."""
    rows = []
    for one in segmentations(len(chain.node), chain.longest):
        scores = [score for _, score in parts(chain, one)]
        if FORBIDDEN not in scores:
            rows.append((one, math.fsum(scores)))
    return tuple(rows)


def log_partition(chain: SemiMarkov) -> float:
    """log of the sum of exp(score) over the segmentations."""
    values = [value for _, value in scored(chain)]
    if not values:
        return FORBIDDEN
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def distribution(chain: SemiMarkov) -> dict[Segmentation, float]:
    """The probability of every segmentation of finite score."""
    log_z = log_partition(chain)
    return {one: math.exp(value - log_z) for one, value in scored(chain)}


def marginals(chain: SemiMarkov) -> dict[Part, float]:
    """The probability of every part that some segmentation has."""
    terms: dict[Part, list[float]] = {}
    for one, p in distribution(chain).items():
        for part, _ in parts(chain, one):
            terms.setdefault(part, []).append(p)
    return {part: math.fsum(values) for part, values in terms.items()}


def boundaries(chain: SemiMarkov) -> list[float]:
    """[T + 1] the probability that a segment begins or ends there."""
    terms: list[list[float]] = [[] for _ in range(len(chain.node) + 1)]
    for one, p in distribution(chain).items():
        at = 0
        for _, d in one:
            terms[at].append(p)
            at += d
        terms[at].append(p)
    return [math.fsum(values) for values in terms]


def k_best(chain: SemiMarkov, k: int) -> list[tuple[Segmentation, float]]:
    """The k best segmentations, best first."""
    return sorted(scored(chain), key=lambda row: -row[1])[:k]
