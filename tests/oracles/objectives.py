"""Every objective of a chain by writing down all labelings.

Each loss is put together from terms over a set of labelings: a soft maximum (log of a sum of exponentials),
a maximum, or the score of one labelling. A term's gradient in the potentials is the expectation of the
indicator under its distribution, so one accumulation serves all objectives:

    value = sum of amount * term,     gradient = sum of amount * slope * (probability of each part)

Plain Python and math.fsum only, with the enumeration of oracles/chain.py; nothing of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from oracles.chain import Chain, Path, labelings, numbering, score

Scored = list[tuple[Path, float]]
Matrix = list[list[float]]


class Term(NamedTuple):
    """A value with the distribution over labelings that is its gradient."""

    value: float
    distribution: dict[Path, float]


class Answer(NamedTuple):
    """A loss with its gradient: node [T][S], edge [T][E]."""

    value: float
    node: Matrix
    edge: Matrix


class Setting(NamedTuple):
    """What an objective may look at besides the scores."""

    gold: Path
    cost: Sequence[Sequence[float]]  # [S][S] by gold label and label
    weights: Sequence[float]  # [S] of gold labels
    allowed: Sequence[Sequence[bool]]  # [T][S]


def soft(scored: Scored) -> Term:
    top = max(value for _, value in scored)
    raw = [(path, math.exp(value - top)) for path, value in scored]
    total = math.fsum(weight for _, weight in raw)
    return Term(top + math.log(total), {path: weight / total for path, weight in raw})


def hard(scored: Scored) -> Term:
    best, value = max(scored, key=lambda item: item[1])
    return Term(value, {best: 1.0})


def known(chain: Chain, path: Path) -> Term:
    return Term(score(chain, path), {path: 1.0})


def _dearer(chain: Chain, s: Setting) -> Scored:
    def cost(path: Path) -> float:
        return math.fsum(s.weights[g] * s.cost[g][y] for g, y in zip(s.gold, path))

    return [(path, value + cost(path)) for path, value in labelings(chain)]


def _allowed(chain: Chain, s: Setting) -> Scored:
    fits: Callable[[Path], bool] = lambda path: all(s.allowed[t][y] for t, y in enumerate(path))  # noqa: E731
    return [(path, value) for path, value in labelings(chain) if fits(path)]


def _at(chain: Chain, s: Setting, t: int) -> Scored:
    """Labelings with the gold label at t."""
    return [(path, value) for path, value in labelings(chain) if path[t] == s.gold[t]]


def _beside(chain: Chain, s: Setting, t: int) -> Scored:
    """Labelings that are gold everywhere but at t."""
    same = s.gold[:t], s.gold[t + 1 :]
    return [(path, value) for path, value in labelings(chain) if (path[:t], path[t + 1 :]) == same]


Difference = tuple[float, Term, Term]  # amount * scale(first - second)


def _whole(first: Term, second: Term) -> list[Difference]:
    return [(1.0, first, second)]


def _each(chain: Chain, s: Setting, terms: Callable[[int], tuple[Term, Term]]) -> list[Difference]:
    return [(s.weights[g], *terms(t)) for t, g in enumerate(s.gold)]


DIFFERENCES: dict[str, Callable[[Chain, Setting], list[Difference]]] = {
    "likelihood": lambda c, s: _whole(soft(list(labelings(c))), known(c, s.gold)),
    "perceptron": lambda c, s: _whole(hard(list(labelings(c))), known(c, s.gold)),
    "margin": lambda c, s: _whole(hard(_dearer(c, s)), known(c, s.gold)),
    "softmax_margin": lambda c, s: _whole(soft(_dearer(c, s)), known(c, s.gold)),
    "viterbi": lambda c, s: _whole(hard(list(labelings(c))), hard(_allowed(c, s))),
    "marginal_likelihood": lambda c, s: _whole(soft(list(labelings(c))), soft(_allowed(c, s))),
    "pseudo_likelihood": lambda c, s: _each(c, s, lambda t: (soft(_beside(c, s, t)), known(c, s.gold))),
    "pointwise": lambda c, s: _each(c, s, lambda t: (soft(list(labelings(c))), soft(_at(c, s, t)))),
}
DIFFERENCES["exponential"] = DIFFERENCES["likelihood"]
DIFFERENCES["pointwise_exponential"] = DIFFERENCES["pointwise"]
EXPONENTIAL = {"exponential", "pointwise_exponential"}


def loss(name: str, chain: Chain, setting: Setting) -> Answer:
    """The objective of that name; OverflowError where it exceeds the largest number."""
    values: list[float] = []
    shares: list[tuple[Path, float]] = []
    for amount, first, second in DIFFERENCES[name](chain, setting) if setting.gold else []:
        gap = first.value - second.value
        values.append(amount * (math.expm1(gap) if name in EXPONENTIAL else gap))
        slope = amount * (math.exp(gap) if name in EXPONENTIAL else 1.0)
        shares += [(path, slope * p) for path, p in first.distribution.items()]
        shares += [(path, -slope * p) for path, p in second.distribution.items()]
    return Answer(math.fsum(values), *_parts(chain, shares))


def _parts(chain: Chain, shares: list[tuple[Path, float]]) -> tuple[Matrix, Matrix]:
    number = numbering(chain.transitions)
    node: list[list[list[float]]] = [[[] for _ in chain.starts] for _ in chain.node]
    edge: list[list[list[float]]] = [[[] for _ in chain.transitions] for _ in chain.node]
    for path, share in shares:
        for t, y in enumerate(path):
            node[t][y].append(share)
            if t:
                edge[t][number[path[t - 1], y]].append(share)
    return [[math.fsum(c) for c in row] for row in node], [[math.fsum(c) for c in row] for row in edge]
