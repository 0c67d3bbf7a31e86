"""Small models for tests of pools, with their weights by name for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fieldcraft as fc
from oracles.pools import Table

LABELS = ("A", "B", "C")
WORDS = tuple("pqrstu")
Tokens = list[list[str]]


def data(n: int, seed: int = 0, words: Sequence[str] = WORDS) -> tuple[list[Tokens], list[list[str]]]:
    """Sequences of words with a suffix each; labels depend on both, with noise."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        numbers = rng.integers(0, len(words), rng.integers(1, 5))
        X.append([[f"w={words[i]}", f"edge:s={i % 2}"] for i in numbers])
        noise = rng.integers(0, 3, len(numbers)) * (rng.random(len(numbers)) < 0.3)
        y.append([LABELS[(i + k) % 3] for i, k in zip(numbers.tolist(), noise.tolist())])
    return X, y


def trained(seed: int = 0, variance: float = 1.0, n: int = 12, **settings: Any) -> fc.ChainCRF:
    """A model of a few sequences, with features of label pairs that look at the input."""
    words = settings.pop("words", WORDS)
    settings = {"labels": LABELS, "edge_prefix": "edge:", **settings}
    crf = fc.ChainCRF(prior=fc.Gaussian(variance=variance), n_jobs=1, **settings)
    return crf.fit(*data(n, seed, words))


def table(model: Any) -> Table:
    """The weights of a model by name."""
    index, names = model.features_, model.classes_.tolist()
    texts = model.encoder_.attribute_text(range(index.n_attributes))
    rows = zip(
        index.attribute.tolist(), index.previous.tolist(), index.label.tolist(), model.weights_.tolist()
    )
    return {
        (texts[a] if a >= 0 else None, names[p] if p >= 0 else None, names[y]): weight
        for a, p, y, weight in rows
    }
