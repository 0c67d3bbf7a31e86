"""Scores of labelings from dictionaries of named weights, as one would add them up by hand.

``state`` has weights by (attribute, label), ``pair`` by (label before, label), ``edge`` by (attribute, label
before, label). A sequence is a list of tokens, a token a list of (attribute, value). What has no
weight counts nothing; at the first token there is no step. Plain Python and math.fsum only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

Token = Sequence[tuple[Hashable, float]]


class NamedWeights(NamedTuple):
    """The weights of a chain by name."""

    state: Mapping[tuple[Hashable, str], float]
    pair: Mapping[tuple[str, str], float]
    edge: Mapping[tuple[Hashable, str, str], float]


def parts(weights: NamedWeights, tokens: Sequence[Token], labels: Sequence[str]) -> Iterator[float]:
    """Every number that the score of a labelling is made of."""
    for t, (token, label) in enumerate(zip(tokens, labels, strict=True)):
        yield from (value * weights.state.get((a, label), 0.0) for a, value in token)
        if t:
            before = labels[t - 1]
            yield weights.pair.get((before, label), 0.0)
            yield from (value * weights.edge.get((a, before, label), 0.0) for a, value in token)


def score(weights: NamedWeights, tokens: Sequence[Token], labels: Sequence[str]) -> float:
    """The unnormalised score of a labelling."""
    return math.fsum(parts(weights, tokens, labels))


def difference(
    weights: NamedWeights, tokens: Sequence[Token], labels: Sequence[str], t: int, other: str
) -> float:
    """Score of the labelling minus that of the one with another label at t."""
    changed = [*labels[:t], other, *labels[t + 1 :]]
    return score(weights, tokens, labels) - score(weights, tokens, changed)
