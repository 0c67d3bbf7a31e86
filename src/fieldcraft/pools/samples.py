"""Samples of the sequences of a corpus, as weights of the sequences: how often each counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bag:
    """N of N sequences, drawn with replacement."""

    number: int
    seed: int

    def counts(self, n_sequences: int) -> Floats:
        """[N] how often each sequence was drawn."""
        drawn = np.random.default_rng([self.seed, self.number]).integers(0, n_sequences, n_sequences)
        return np.bincount(drawn, minlength=n_sequences).astype(np.float64)


@dataclass(frozen=True)
class Part:
    """One of n parts of the sequences, or with ``others`` all parts but this one."""

    number: int
    n: int
    seed: int
    others: bool = False

    def counts(self, n_sequences: int) -> Floats:
        """[N] 1 for the sequences of the sample."""
        order = np.random.default_rng([self.seed, self.n]).permutation(n_sequences)
        return np.asarray((order % self.n == self.number) != self.others, np.float64)


@dataclass(frozen=True)
class Boost:
    """Sequences reweighted by the errors of the expert of the round before, among those of one chain."""

    round: int
    chain: str


def reweighted(weights: Floats, losses: Floats) -> Floats:
    """[N] the weights of the next round, with the same sum.

    Parameters
    ----------
    weights : [N] of this round
    losses : [N] between 0 and 1, of the expert that learnt with these weights
    """
    mean = float(np.average(losses, weights=weights))
    if not 0.0 < mean < 0.5:
        return weights
    moved = weights * (mean / (1.0 - mean)) ** (1.0 - losses)
    return np.asarray(moved * (weights.sum() / moved.sum()))
