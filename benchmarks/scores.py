"""Accuracy of tokens and F1 of spans, for both sides alike and without the package.

Spans as conlleval reads them in IOB2: B opens, I goes on or, after another type, opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Spans = set[tuple[int, int, str]]


def spans(tags: Sequence[str]) -> Spans:
    """(start, end, type) of every span."""
    found: Spans = set()
    start, kind = 0, ""
    for t, tag in enumerate([*tags, "O"]):
        mark, now = tag[0], tag[2:]
        if kind and (mark != "I" or now != kind):
            found.add((start, t, kind))
            kind = ""
        if not kind and mark != "O":
            start, kind = t, now
    return found


def accuracy(gold: Iterable[Sequence[str]], guess: Iterable[Sequence[str]]) -> float:
    """Percentage of equal labels."""
    pairs = [(a, b) for x, y in zip(gold, guess) for a, b in zip(x, y)]
    return 100.0 * sum(a == b for a, b in pairs) / len(pairs)


def f1(gold: Iterable[Sequence[str]], guess: Iterable[Sequence[str]]) -> float:
    """Percentage: harmonic mean of precision and recall of spans."""
    sets = [(spans(a), spans(b)) for a, b in zip(gold, guess)]
    right = sum(len(a & b) for a, b in sets)
    all_ = sum(len(a) + len(b) for a, b in sets)
    return 200.0 * right / all_ if all_ else 0.0
