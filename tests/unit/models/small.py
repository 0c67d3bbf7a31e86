"""Small fitted models (synthetic corpora) and the enumeration of what they say."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.potentials import ChainWeights
from oracles import chain as oracle

WORDS = ["the", "dog", "Rome", "in", "Mary", "saw"]
LABELS = {
    "plain": ["D", "N", "V"],
    "iob1": ["O", "I-A", "B-A", "I-B"],
    "iob2": ["O", "B-A", "I-A", "B-B", "I-B"],
    "iobes": ["O", "B-A", "I-A", "E-A", "S-A"],
    "bilou": ["O", "B-A", "I-A", "L-A", "U-A"],
    "bare": ["O", "B", "I"],
    "mixed": ["O", "B-A", "I-A", "E-A", "S-A", "I-B"],
}


def corpus(labels: list[str], *, seed: int = 0, n: int = 12) -> tuple[list[Any], list[list[str]]]:
    """Random words with random labels, each label at least once."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=n)
    X = [[[f"w={WORDS[k]}", "b"] for k in rng.integers(len(WORDS), size=m)] for m in lengths]
    y = [[labels[k] for k in rng.integers(len(labels), size=m)] for m in lengths]
    return [*X, [["b"]] * len(labels)], [*y, list(labels)]


def model(labels: list[str], *, seed: int = 0, **settings: Any) -> ChainCRF:
    """A model whose distributions are neither flat nor certain."""
    settings.setdefault("optimiser", LBFGS(max_iterations=8))
    return ChainCRF(n_jobs=1, **settings).fit(*corpus(labels, seed=seed))


def chains(crf: ChainCRF, X: Any) -> list[oracle.Chain]:
    """Every sequence of X as the oracle sees it."""
    encoded = crf.encoder_.encode(X, grow=False)
    S = len(crf.classes_)
    node, edge = ChainWeights.of(crf.features_, crf.weights_, S).arrays(encoded)
    rows = np.tile(edge, (len(node), 1)) if edge.ndim == 1 else edge
    pairs = tuple((x, y) for x in range(S) for y in range(S))
    free = (True,) * S
    bounds = encoded.offsets.tolist()
    return [
        oracle.Chain(
            tuple(map(tuple, node[a:b].tolist())), tuple(map(tuple, rows[a:b].tolist())), pairs, free, free
        )
        for a, b in zip(bounds[:-1], bounds[1:])
    ]


def batch(*, lengths: tuple[int, ...] = (3, 0, 1, 4, 5), seed: int = 9) -> list[Any]:
    """Sequences to ask about, one attribute among them unknown."""
    rng = np.random.default_rng(seed)
    names = [*WORDS, "unknown"]
    return [[[f"w={names[k]}", "b"] for k in rng.integers(len(names), size=m)] for m in lengths]
