"""Probabilities of a hidden Markov model from counts, and from expected counts (Baum-Welch).

    emission[y, v] = (count of v with y + a) / (count of y + a (V + 1))      one part a is for unknown symbols
    transition and start likewise, without a part for the unknown

Baum-Welch repeats this with the expected counts given the symbols and what is known of the labels. It raises
log p(x, known labels) + a * (sum of the logarithms of all probabilities), the second part being the prior
that the smoothing stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.structures import chain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]


class HMMProbabilities(NamedTuple):
    """start [S], transition [S, S], emission [S, V], and that of an unknown symbol [S]."""

    start: Floats
    transition: Floats
    emission: Floats
    unknown: Floats


@dataclass(frozen=True)
class Symbols:
    """The symbol of every token [tokens], of V, and where sequences begin [N + 1]."""

    symbol: NDArray[np.int64]
    n_symbols: int
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, encoder: Encoder, encoded: Encoded) -> Symbols:
        """The attributes of the first template, which is that of the column."""
        of_attribute = encoder.attribute_template
        number = np.cumsum(of_attribute == 0) - 1
        mine = of_attribute[encoded.attributes] == 0
        return cls(number[encoded.attributes[mine]], int(np.sum(of_attribute == 0)), encoded.offsets)


class Counts:
    """Turns (expected) counts into probabilities."""

    def __init__(self, symbols: Symbols, n_states: int, smoothing: float) -> None:
        self.symbols, self.n_states, self.smoothing = symbols, n_states, smoothing
        self._first = symbols.offsets[:-1][np.diff(symbols.offsets) > 0]

    def counted(self, allowed: NDArray[np.bool_]) -> HMMProbabilities:
        """From one label per token."""
        labels = allowed.argmax(axis=1)
        pairs = np.zeros((self.n_states, self.n_states))
        at = chain.steps(self.symbols.offsets)
        np.add.at(pairs, (labels[at - 1], labels[at]), 1.0)
        return self._normalised(allowed.astype(np.float64), pairs)

    def baum_welch(
        self, allowed: NDArray[np.bool_], seed: Any, most: int, tolerance: float
    ) -> tuple[HMMProbabilities, list[float]]:
        """From sets of labels, by expectation and maximisation; and the objective of each iteration."""
        space = StateSpace.labels(self.n_states)
        noise = np.random.default_rng(seed).uniform(0.5, 1.5, allowed.shape)
        rows = np.where(allowed, noise, 0.0)
        rows /= rows.sum(axis=1, keepdims=True)
        at = chain.steps(self.symbols.offsets)
        found = self._normalised(rows, rows[at - 1].T @ rows[at])
        values: list[float] = []
        for _ in range(most):
            node, edge = self._scores(found, allowed)
            expected = chain.marginals(node, edge, self.symbols.offsets, space, edge_totals=True)
            values.append(float(expected.log_partition.sum()) + self._prior(found))
            if len(values) > 1 and values[-1] - values[-2] < tolerance * abs(values[-1]):
                break
            found = self._normalised(expected.node, expected.edge.reshape(self.n_states, -1))
        return found, values

    def _scores(self, found: HMMProbabilities, allowed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            start, transition, emission, _ = (np.log(part) for part in found)
        node = np.where(allowed, emission.T[self.symbols.symbol], -np.inf)
        node[self._first] += start
        return node, transition.ravel()

    def _prior(self, found: HMMProbabilities) -> float:
        if self.smoothing == 0.0:
            return 0.0
        return self.smoothing * float(sum(np.log(part).sum() for part in found))

    def _normalised(self, node: Floats, pairs: Floats) -> HMMProbabilities:
        a, V = self.smoothing, self.symbols.n_symbols
        emission = np.zeros((V, self.n_states))
        np.add.at(emission, self.symbols.symbol, node)
        emission = emission.T + a
        total = emission.sum(axis=1) + a
        start = node[self._first].sum(axis=0) + a
        pairs = pairs + a
        return HMMProbabilities(
            start / start.sum(),
            _shares(pairs, pairs.sum(axis=1)),
            _shares(emission, total),
            np.divide(a, total, out=np.zeros(self.n_states), where=total > 0),
        )


def _shares(counts: Floats, totals: Floats) -> Floats:
    """Rows divided by their totals; a row without any count is uniform."""
    uniform = np.full_like(counts, 1.0 / counts.shape[1])
    return np.divide(counts, totals[:, None], out=uniform, where=totals[:, None] > 0)


def check_probabilities(name: str, part: Floats, shape: tuple[int, ...]) -> None:
    """InputError unless an array has this shape and its rows are distributions."""
    if part.shape != shape:
        raise InputError(f"{name} has the shape {part.shape}; {shape} is needed for these labels and symbols")
    if not np.all(part >= 0) or not np.allclose(part.sum(axis=-1), 1.0, rtol=0, atol=1e-6):
        raise InputError(f"{name}: each row must be probabilities, none negative, that sum to one")
