"""Similarities of texts to the entries of a list: each is compared with each, by the definitions."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache


def jaccard(a: str, b: str) -> float:
    """Shared words / all words."""
    left, right = set(a.split()), set(b.split())
    return len(left & right) / len(left | right)


@cache
def _levenshtein(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    if a[0] == b[0]:
        return _levenshtein(a[1:], b[1:])
    return 1 + min(_levenshtein(a[1:], b), _levenshtein(a, b[1:]), _levenshtein(a[1:], b[1:]))


def edit(a: str, b: str) -> float:
    """1 - distance / length of the longer."""
    return 1 - _levenshtein(a, b) / max(len(a), len(b))


def trigrams(text: str) -> Counter[str]:
    """Of the text between blanks."""
    padded = f" {text} "
    return Counter(padded[i : i + 3] for i in range(len(padded) - 2))


@cache
def _frequencies(entries: tuple[str, ...]) -> Counter[str]:
    return Counter(gram for entry in entries for gram in set(trigrams(entry)))


@cache
def _vector(text: str, entries: tuple[str, ...]) -> tuple[dict[str, float], float]:
    """tf * idf, idf = 1 + log((1 + N) / (1 + df)), and its norm."""
    df, n = _frequencies(entries), len(entries)
    weights = {g: tf * (1 + math.log((1 + n) / (1 + df[g]))) for g, tf in trigrams(text).items()}
    return weights, math.sqrt(math.fsum(w * w for w in weights.values()))


def cosine(a: str, b: str, entries: tuple[str, ...]) -> float:
    """Of tf * idf of trigrams."""
    (left, size), (right, other) = _vector(a, entries), _vector(b, entries)
    return math.fsum(w * right.get(g, 0.0) for g, w in left.items()) / (size * other)


def nearest(text: str, entries: list[str], kind: str) -> float:
    """The largest similarity to an entry."""
    if kind == "exact":
        return float(text in entries)
    if kind == "cosine":
        return max(cosine(text, entry, tuple(entries)) for entry in entries)
    compare = {"jaccard": jaccard, "edit": edit}[kind]
    return max(compare(text, entry) for entry in entries)
