"""Trainings that one process and several ranks must agree on, on a synthetic corpus that is drawn here."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import fieldcraft as fc

TEMPLATES = "c0[-1..1]\nc0 & c1[1]\nprefix(c0, 1)\nedge: c1"
VERBS = ["spoke", "lived", "sang", "slept"]


class Case(NamedTuple):
    """An estimator whose optimiser is chosen by what trains it, and its data."""

    model: Callable[[], fc.ChainCRF]
    X: Any
    y: Any


def corpus(n: int = 60, seed: int = 0) -> fc.Corpus:
    """Synthetic sentences of words and tags; a few labels are seen in the last part only."""
    rng, sequences = random.Random(seed), []
    for i in range(n):
        names = [f"Name{rng.randrange(40)}" for _ in range(rng.randrange(1, 4))]
        words = [*names, rng.choice(VERBS), "in", f"Place{rng.randrange(25)}", "."]
        labels = ["B-PER", *["I-PER"] * (len(names) - 1), "O", "O", "B-LOC", "O"]
        if i >= n - 4:
            labels[-1] = "B-END"
        tags = ["NNP" if word[0].isupper() else "X" for word in words]
        sequences.append(fc.Sequence({"c0": words, "c1": tags}, labels))
    return fc.Corpus(sequences, label="ner")


def values(n: int = 40, scale: float = 1.0) -> tuple[list[Any], list[Any]]:
    """Synthetic sequences of features with values; the largest are in the last ones."""
    rng, X, y = random.Random(1), [], []
    for i in range(n):
        labels = [rng.choice("ABC") for _ in range(rng.randrange(1, 9))]
        size = scale if i > n // 2 else 1.0
        X.append([{f"is{label}": 1.0, "size": size * rng.gauss(ord(label) - 66, 2.0)} for label in labels])
        y.append([label if rng.random() < 0.8 else rng.choice("ABC") for label in labels])
    return X, y


def unknown() -> list[Any]:
    """The labels of the corpus; some are unknown or one of two, and whole sentences are not labelled."""
    rng, out = random.Random(2), []
    for i, labels in enumerate(corpus().labels):
        hidden = [
            None if rng.random() < 0.2 else {label, "O"} if rng.random() < 0.2 else label for label in labels
        ]
        out.append([None] * len(labels) if i % 7 == 0 else hidden)
    return out


def _model(templates: Any = TEMPLATES, **settings: Any) -> Callable[[], fc.ChainCRF]:
    return lambda: fc.ChainCRF(templates, **settings)


CASES: dict[str, Case] = {
    "gaussian": Case(_model(min_count=2), corpus(), None),
    "laplacian": Case(_model(prior=fc.Laplacian(scale=2.0)), corpus(), None),
    "inequality": Case(_model(prior=fc.Inequality(positive=0.5)), corpus(), None),
    "conjugate gradient": Case(_model(optimiser=fc.ConjugateGradient(max_iterations=40)), corpus(), None),
    "all features": Case(_model("c0", features="all"), corpus(), None),
    "balanced": Case(_model(objective="pointwise", label_weights="balanced"), corpus(), None),
    "declared": Case(_model(labels=["O", "B-PER", "I-PER", "B-LOC", "B-END", "B-NEW"]), corpus(), None),
    "hashed": Case(_model(hash_size=500), corpus(), None),
    "partial": Case(_model(objective="marginal_likelihood"), corpus(), unknown()),
    "values": Case(_model(None), *values()),
    "large values": Case(_model(None, prior=fc.Gaussian(variance=1.0)), *values(scale=5000.0)),
    "second order": Case(_model("c0", states="ngrams:2"), corpus(), None),
    "observed": Case(_model("c0\nedge: c1", states="ngrams:2+observed", min_count=2), corpus(), None),
    "valid": Case(_model("c0\nedge: c1", states="iob2", objective="softmax_margin"), corpus(), None),
    "latent": Case(_model("c0", states="latent:2", optimiser=fc.LBFGS(max_iterations=30)), corpus(), None),
    "unknown labels": Case(
        _model("c0", states="labels+observed", objective="marginal_likelihood"), corpus(), unknown()
    ),
    "few": Case(_model(), corpus(3), None),
}
