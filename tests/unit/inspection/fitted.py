"""Small fitted models of every kind (synthetic corpora), and their weights as dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import fieldcraft as fc
from oracles.named_weights import NamedWeights, Token

WORDS = ["the", "dog", "Rome", "in", "Mary", "saw", "<b>&amp;", "日本"]
LABELS = ["D", "N", "V", "X"]
TEMPLATES = "word[-1..1]\nword[-1] & word\nsuffix(word, 2)\nfirst\nedge: word\nedge: word[1]\nedge"
CRFPP = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB01:%x[0,0]\nB"


def words(*, seed: int = 0, n: int = 12, extra: tuple[str, ...] = ()) -> list[list[str]]:
    """Random words."""
    rng = np.random.default_rng(seed)
    pool = [*WORDS, *extra]
    return [[pool[k] for k in rng.integers(len(pool), size=m)] for m in rng.integers(1, 7, size=n)]


def labels_for(X: list[Any], *, seed: int = 1) -> list[list[str]]:
    """Random labels, each at least once."""
    rng = np.random.default_rng(seed)
    y = [[LABELS[k] for k in rng.integers(len(LABELS), size=len(x))] for x in X]
    y[0] = (LABELS * len(X[0]))[: len(X[0])]
    return y


def _lists(sentences: list[list[str]]) -> list[Any]:
    return [[[f"w={w}", "b", f"w={w}"] for w in s] for s in sentences]


def _values(sentences: list[list[str]]) -> list[Any]:
    return [
        [{"w": w, "size": len(w) / 4 - 1, "low": w.islower(), "in": [w[0], w[-1]]} for w in s]
        for s in sentences
    ]


def _edges(sentences: list[list[str]]) -> list[Any]:
    return [[{"w": w, "E:w": w, "E:size": 0.5 * len(w)} for w in s] for s in sentences]


def _matrices(sentences: list[list[str]]) -> list[Any]:
    return [
        np.array([[len(w) / 4, w.islower(), WORDS.index(w) / 3 if w in WORDS else 0] for w in s])
        for s in sentences
    ]


def _columns(sentences: list[list[str]]) -> list[Any]:
    return [{"word": list(s)} for s in sentences]


def _corpus(sentences: list[list[str]]) -> fc.Corpus:
    return fc.Corpus([fc.Sequence({"word": list(s)}) for s in sentences])


Shape = Callable[[list[list[str]]], Any]
KINDS: dict[str, tuple[Shape, dict[str, Any]]] = {
    "lists": (_lists, {}),
    "values": (_values, {}),
    "edges": (_edges, {"edge_prefix": "E:"}),
    "matrices": (_matrices, {}),
    "all features": (_values, {"features": "all"}),
    "sparse": (_edges, {"edge_prefix": "E:", "prior": fc.Laplacian(scale=2.0)}),
    "cut off": (_lists, {"min_count": 3}),
    "hashed": (_values, {"hash_size": 16}),
    "posterior": (_edges, {"edge_prefix": "E:", "decoding": "posterior"}),
    "templates": (_columns, {"templates": TEMPLATES}),
    "corpus": (_corpus, {"templates": TEMPLATES}),
    "no pairs": (_columns, {"templates": "word[-1..0]"}),
    "hashed templates": (_columns, {"templates": TEMPLATES, "hash_size": 32}),
    "patterns": (_columns, {"templates": CRFPP}),
}


@cache
def fitted(kind: str) -> fc.ChainCRF:
    """A model whose labelings are neither flat nor certain."""
    shape, settings = KINDS[kind]
    X = words()
    settings = {
        "optimiser": fc.OWLQN(max_iterations=15) if kind == "sparse" else fc.LBFGS(max_iterations=8),
        **settings,
    }
    return fc.ChainCRF(n_jobs=1, **settings).fit(shape(X), labels_for(X))


def asked(kind: str) -> Any:
    """Sequences to explain, with words that training never saw."""
    return KINDS[kind][0](words(seed=5, extra=("unseen", "Zürich")))


def weights_of(crf: fc.ChainCRF) -> NamedWeights:
    """The weights by name; a hashed model's by number."""
    index, names = crf.features_, crf.classes_
    texts = keys_of(crf, index.attribute)
    state, pair, edge = {}, {}, {}
    for text, a, x, y, w in zip(texts, index.attribute, index.previous, index.label, crf.weights_.tolist()):
        if a < 0:
            pair[names[x], names[y]] = w
        elif x < 0:
            state[text, names[y]] = w
        else:
            edge[text, names[x], names[y]] = w
    return NamedWeights(state, pair, edge)


def keys_of(crf: fc.ChainCRF, attributes: Any) -> list[Any]:
    """Names of attributes; numbers where they are hashed or nothing."""
    if crf.hash_size is not None:
        return [int(a) for a in attributes]
    return [crf.encoder_.attribute_text([a])[0] if a >= 0 else None for a in attributes]


def tokens_of(crf: fc.ChainCRF, X: Any) -> list[list[Token]]:
    """The attributes of each token with their values, as the model's encoder finds them."""
    encoded = crf.encoder_.encode(X, grow=False)
    values = np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
    pairs = list(zip(keys_of(crf, encoded.attributes), values.tolist()))
    ptr = encoded.token_ptr.tolist()
    tokens = [pairs[a:b] for a, b in zip(ptr, ptr[1:])]
    bounds = encoded.offsets.tolist()
    return [tokens[a:b] for a, b in zip(bounds, bounds[1:])]
