"""Votes of other mentions by comparing all pairs of words. Imports nothing from the package."""

from __future__ import annotations

from fractions import Fraction

Shares = dict[int, dict[str, Fraction]]


def phrase(words: list[str], t: int) -> tuple[int, int]:
    """First position and end of the longest run of capitalised words that contains t."""
    spans = [
        (a, b)
        for a in range(t + 1)
        for b in range(t + 1, len(words) + 1)
        if all(word[:1].isupper() for word in words[a:b])
    ]
    return max(spans, key=lambda span: span[1] - span[0], default=(t, t + 1))


def shares(votes: list[str]) -> dict[str, Fraction]:
    """Equal parts of one for the labels that occur most often."""
    most = max(votes.count(label) for label in votes)
    best = {label for label in votes if votes.count(label) == most}
    return dict.fromkeys(best, Fraction(1, len(best)))


def factors(words: list[str], labels: list[str], capitalised: bool) -> tuple[Shares, Shares]:
    """Of "majority" and "inside", by position."""
    majority: Shares = {}
    inside: Shares = {}
    for t, word in enumerate(words):
        if capitalised and not word[:1].isupper():
            continue
        others = [u for u, other in enumerate(words) if other == word and u != t]
        if others:
            majority[t] = shares([labels[u] for u in others])
        a, b = phrase(words, t)
        mine, longer = " ".join(words[a:b]), []
        for u in others:
            c, d = phrase(words, u)
            if d - c > b - a and f" {mine} " in f" {' '.join(words[c:d])} ":
                longer.append(labels[u])
        if longer:
            inside[t] = shares(longer)
    return majority, inside
