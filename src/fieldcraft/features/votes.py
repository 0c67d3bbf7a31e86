"""Long-distance factors of a document: what a first model says of the other mentions of a word.

A second model, trained afterwards, has two more clique templates over single words:

    majority   the label that most other mentions of the word have
    inside     the label that most mentions have whose phrase is longer and contains this one's phrase:
               *China* as it was labelled in *The China Daily*, for *China* alone

Phrases are runs of capitalised words (word_pairs.py). A factor's observations are one number per label: 1 for
the label with most votes, or equal shares of 1 where several have as many. Words without other mentions have
no factor. Labels of the first model should come from cross-validation in training: on documents that it was
trained on it makes fewer mistakes than it will later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.word_pairs import is_within, phrase_around

Scope = NDArray[np.int32]


def document_votes(
    words: Sequence[str], predicted: Sequence[str], labels: Iterable[str], *, capitalised: bool = True
) -> dict[str, tuple[Scope, Any]]:
    """The factors "majority" and "inside" of a document, for ``fc.GraphInstance``.

    Parameters
    ----------
    words : of the document
    predicted : the label of each word, by a first model
    labels : the columns of the observations: ``classes_`` of that model
    capitalised : only words that begin with a capital letter; False for all

    Returns
    -------
    for each template the variables [K, 1] and a sparse matrix of observations [K, labels]

    Examples
    --------
    >>> words = "The China Daily said China grew".split()
    >>> votes = document_votes(words, ["ORG", "ORG", "ORG", "O", "LOC", "O"], ["LOC", "O", "ORG"])
    >>> [(int(v), row.tolist()) for v, row in zip(votes["inside"][0][:, 0], votes["inside"][1].toarray())]
    [(4, [0.0, 0.0, 1.0])]
    """
    texts, names = [str(word) for word in words], [str(label) for label in labels]
    number = {label: y for y, label in enumerate(names)}
    if len(predicted) != len(texts):
        raise InputError(f"{len(texts)} words, labels of {len(predicted)}; give one label for each word")
    for t, label in enumerate(predicted):
        if label not in number:
            raise InputError(f"word {t}: label {label!r} is none of {', '.join(names)}")
    rows: dict[str, list[tuple[int, Counter[int]]]] = {"majority": [], "inside": []}
    given = [number[label] for label in predicted]
    for mentions in _mentions(texts, capitalised=capitalised):
        phrases = [phrase_around(texts, t) for t in mentions]
        votes = Counter(given[t] for t in mentions)
        for t, phrase in zip(mentions, phrases):
            rows["majority"].append((t, votes - Counter([given[t]])))
            longer = [
                given[u]
                for u, other in zip(mentions, phrases)
                if len(other) > len(phrase) and is_within(phrase, other)
            ]
            if longer:
                rows["inside"].append((t, Counter(longer)))
    return {name: _factors(sorted(found, key=lambda row: row[0]), len(names)) for name, found in rows.items()}


def _mentions(words: Sequence[str], *, capitalised: bool) -> list[list[int]]:
    """Positions of each word that occurs more than once."""
    positions: dict[str, list[int]] = defaultdict(list)
    for t, word in enumerate(words):
        if not capitalised or word[:1].isupper():
            positions[word].append(t)
    return [found for found in positions.values() if len(found) > 1]


def _factors(rows: list[tuple[int, Counter[int]]], n_labels: int) -> tuple[Scope, Any]:
    """Variables [K, 1] and observations [K, labels]: equal shares of the labels with most votes."""
    from scipy import sparse

    at, columns, shares = [], [], []
    for k, (_, votes) in enumerate(rows):
        most = max(votes.values())
        best = sorted(label for label, count in votes.items() if count == most)
        at += [k] * len(best)
        columns += best
        shares += [1.0 / len(best)] * len(best)
    scope = np.array([t for t, _ in rows], np.int32).reshape(-1, 1)
    return scope, sparse.csr_array((shares, (at, columns)), shape=(len(rows), n_labels))
