"""Online learning spelled out: every labelling of a sequence is a row of feature counts.

An example is ``counts`` [L, F] over all its L labelings, the row of the gold one, and for each row how many
labels are wrong. Steps follow their textbook formulas with dense vectors; a learner returns the weights after
every step. Lazy scales, sums and clippings of real implementations must end where these do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """All labelings of one sequence."""

    counts: Floats  # [L, F]
    gold: int
    wrong: Floats  # [L]

    def best(self, weights: Floats, cost: float = 0.0) -> int:
        """The labelling of the largest score plus cost times wrong labels."""
        return int(np.argmax(self.counts @ weights + cost * self.wrong))


class Slope(NamedTuple):
    """Loss and gradient of one example."""

    value: float
    gradient: Floats


def likelihood(example: Example, weights: Floats) -> Slope:
    scores = example.counts @ weights
    top = scores.max()
    p = np.exp(scores - top)
    log_z = top + math.log(p.sum())
    p /= p.sum()
    return Slope(log_z - scores[example.gold], p @ example.counts - example.counts[example.gold])


def hinge(example: Example, weights: Floats, cost: float = 1.0) -> Slope:
    """Margin with Hamming costs; cost 0 is the perceptron's loss."""
    y = example.best(weights, cost)
    difference = example.counts[y] - example.counts[example.gold]
    return Slope(float(difference @ weights + cost * example.wrong[y]), difference)


def perceptron(examples: Iterable[Example], start: Floats) -> list[Floats]:
    history, w = [], start.copy()
    for example in examples:
        w = w - hinge(example, w, 0.0).gradient
        history.append(w)
    return history


def voters(examples: Iterable[Example], start: Floats) -> list[tuple[Floats, int]]:
    """Freund and Schapire's list: every weight vector with the number of examples it lived for."""
    out: list[tuple[Floats, int]] = []
    w, lived = start.copy(), 0
    for example in examples:
        step = hinge(example, w, 0.0).gradient
        if np.any(step):
            out.append((w, lived))
            w, lived = w - step, 0
        lived += 1
    return [*out, (w, lived)]


def elect(labelings: Sequence[tuple[int, ...]], votes: Sequence[float]) -> tuple[int, ...]:
    """The labelling with most votes; of equal ones that of the youngest voter."""
    tally = {y: math.fsum(v for x, v in zip(labelings, votes) if x == y) for y in labelings}
    most = max(tally.values())
    return next(y for y in reversed(labelings) if tally[y] == most)


Cost = Callable[[float], float]


def passive_aggressive(
    examples: Iterable[Example], start: Floats, variant: str, c: float, cost: Cost
) -> list[Floats]:
    history, w = [], start.copy()
    for example in examples:
        y = example.best(w)
        if example.wrong[y]:
            d = example.counts[example.gold] - example.counts[y]
            loss = -d @ w + cost(example.wrong[y])
            square = float(d @ d)
            steps = {
                "PA": loss / square,
                "PA-I": min(c, loss / square),
                "PA-II": loss / (square + 0.5 / c),
            }
            w = w + steps[variant] * d
        history.append(w)
    return history


def arow(
    examples: Iterable[Example], start: Floats, variance: float, gamma: float, cost: Cost
) -> list[Floats]:
    history, w, v = [], start.copy(), np.full(len(start), variance)
    for example in examples:
        y = example.best(w)
        if example.wrong[y]:
            d = example.counts[example.gold] - example.counts[y]
            loss = -d @ w + cost(example.wrong[y])
            w = w + loss / (v @ d**2 + gamma) * v * d
            v = 1 / (1 / v + d**2 / gamma)
        history.append(w)
    return history


Loss = Callable[[Example, Floats], Slope]


def descent(
    examples: Sequence[Example],
    start: Floats,
    loss: Loss,
    *,
    rate: float,
    decay: float,
    n: int,
    precision: float = 0.0,
    l1: float = 0.0,
) -> list[Floats]:
    """w <- (w - h g) / (1 + h p / n), then clipping by what absolute values may still take in all.

    Clipping follows Tsuruoka, Tsujii and Ananiadou (2009) and looks at the features of the example; at
    the end it looks at all.
    """
    history, w, taken, may_take = [], start.copy(), np.zeros(len(start)), 0.0
    for t, example in enumerate(examples):
        h = rate / (1 + decay * t)
        g = loss(example, w).gradient
        w = w - h * g
        if l1:
            occurs = np.any(example.counts != 0, axis=0)
            w, taken = _clip(w, taken, may_take * l1, occurs)
        w = w / (1 + h * precision / n)
        may_take += h / n
        history.append(w)
    if l1:
        history.append(_clip(w, taken, may_take * l1, np.ones(len(w), bool))[0])
    return history


def _clip(w: Floats, taken: Floats, u: float, where: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    above = np.maximum(0.0, w - (u + taken))
    below = np.minimum(0.0, w + (u - taken))
    clipped = np.where(where & (w > 0), above, np.where(where & (w < 0), below, w))
    return clipped, taken + clipped - w


def adagrad(
    examples: Sequence[Example],
    start: Floats,
    loss: Loss,
    *,
    rate: float,
    floor: float,
    corpus: Sequence[Example],
    mean: Floats,
    precision: Floats,
) -> list[Floats]:
    """A rate per weight; a weight's penalty is shared evenly by the examples of the corpus that touch it."""
    touching = np.sum([_touched(example) for example in corpus], axis=0)
    history, w, squares = [], start.copy(), np.zeros(len(start))
    for example in examples:
        g = loss(example, w).gradient
        squares += g**2
        h = rate / (floor + np.sqrt(squares))
        p = np.where(_touched(example), h * precision / np.maximum(touching, 1), 0.0)
        w = (w - h * g + p * mean) / (1 + p)
        history.append(w)
    return history


def _touched(example: Example) -> NDArray[np.bool_]:
    return np.any(example.counts != 0, axis=0)
