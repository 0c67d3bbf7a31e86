"""Linear chains by enumeration in rational numbers: scores have no range that they could leave.

The chain is that of oracles/chain.py. Differences of scores are exact; only their exponentials are rounded,
to 0 where they are too small for a number. Cost is S**T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from oracles.chain import FORBIDDEN, Chain, Path, numbering

LARGEST = Fraction(1.7976931348623157e308)


def score(chain: Chain, path: Sequence[int]) -> Fraction | None:
    """The score of a labelling; None where it is forbidden."""
    if path and not (chain.starts[path[0]] and chain.stops[path[-1]]):
        return None
    number = numbering(chain.transitions)
    parts = [chain.node[t][y] for t, y in enumerate(path)]
    for t in range(1, len(path)):
        e = number.get((path[t - 1], path[t]))
        parts.append(FORBIDDEN if e is None else chain.edge[t][e])
    return None if FORBIDDEN in parts else sum(map(Fraction, parts), Fraction(0))


def labelings(chain: Chain) -> list[tuple[Path, Fraction]]:
    """The possible labellings, best first; of equal ones that with the lower states, last position first."""
    everything = product(range(len(chain.starts)), repeat=len(chain.node))
    scored = [(path, value) for path in everything if (value := score(chain, path)) is not None]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0][::-1]))


def distribution(chain: Chain) -> dict[Path, float]:
    """The probability of every possible labelling."""
    scored = labelings(chain)
    top = scored[0][1]
    weights = {path: exponential(value - top) for path, value in scored}
    total = math.fsum(weights.values())
    return {path: weight / total for path, weight in weights.items()}


def log_partition(chain: Chain) -> Fraction:
    """log of the sum of exp(score)."""
    scored = labelings(chain)
    top = scored[0][1]
    return top + Fraction(math.log(math.fsum(exponential(value - top) for _, value in scored)))


def exponential(difference: Fraction) -> float:
    """exp of a number that is not positive."""
    return math.exp(difference) if difference > -1000 else 0.0


def rounded(value: Fraction) -> float:
    """As a floating-point number; infinite beyond the largest one."""
    if abs(value) <= LARGEST:
        return float(value)
    return math.inf if value > 0 else -math.inf
