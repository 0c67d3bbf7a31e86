"""Attributes of candidates for names: what stands in and around them, by their length, and their pattern.

    lengths   the words before, after, first and last, the ending and the shape, each joined with the length
              (1, 2, 3 and more): what a word says about a name of one token differs from what it says about
              the beginning or the end of a longer one
    pattern   the shapes of the words with repetitions cut; short words of small letters as they are
    members   for each word the lists of names that have it as an entry
    around    both neighbours together, and each with the pattern

``SpanFeatures`` is a function for ``fc.SegmentCRF(segment_features=…)``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.features.predicates import shape
from fieldcraft.features.similarity import entries_of

KINDS = ("lengths", "pattern", "members", "around")
LONGEST = 6  # tokens of a candidate that has these attributes
_REPEATED = re.compile(r"(.)\1+")


@cache
def outline(word: str) -> str:
    """Its shape with repetitions cut: Xx+, X+, d+-d+."""
    return _REPEATED.sub(r"\1+", shape(word))


@cache
def part_of_pattern(word: str) -> str:
    """The outline, or a short word of small letters and marks as it is."""
    if word.islower() or not any(map(str.isalnum, word)):
        return word if len(word) < 5 else "x"
    return outline(word)


class SpanFeatures:
    """(sequence, start, end) -> attributes.

    Parameters
    ----------
    kinds : some of KINDS
    lists : the lists of names, for "members"
    """

    def __init__(self, kinds: Sequence[str], lists: Sequence[Gazetteer] = ()) -> None:
        self.kinds = tuple(kinds)
        self.names = [g.name for g in lists]
        self._entries = [{entry for entry in entries_of(g) if b" " not in entry} for g in lists]
        self._known: dict[str, str] = {}

    def __call__(self, sequence: Any, start: int, end: int) -> list[str]:
        if end - start > LONGEST:
            return []
        words: list[str] = sequence.columns["word"]
        found: list[str] = []
        for kind in self.kinds:
            found += getattr(self, f"_{kind}")(words, start, end)
        return found

    def _lengths(self, words: list[str], a: int, b: int) -> list[str]:
        n = min(b - a, 3)
        before, after = _neighbours(words, a, b)
        first, last = words[a], words[b - 1]
        return [
            f"{n} before {before}",
            f"{n} after {after}",
            f"{n} first {first.lower()}",
            f"{n} last {last.lower()}",
            f"{n} ending {last[-3:]}",
            f"{n} shape {outline(first)}",
        ]

    def _pattern(self, words: list[str], a: int, b: int) -> list[str]:
        return [f"pattern {_pattern(words, a, b)}"]

    def _members(self, words: list[str], a: int, b: int) -> list[str]:
        return ["members " + " ".join(map(self.lists_of, words[a:b]))]

    def _around(self, words: list[str], a: int, b: int) -> list[str]:
        before, after = _neighbours(words, a, b)
        pattern = _pattern(words, a, b)
        return [f"around {before} {after}", f"before {before} {pattern}", f"after {pattern} {after}"]

    def lists_of(self, word: str) -> str:
        """The first letters of the lists that have it; - without any."""
        if word not in self._known:
            entry = word.lower().encode("utf-8", "surrogatepass")
            marks = [name[0] for name, entries in zip(self.names, self._entries) if entry in entries]
            self._known[word] = "".join(marks) or "-"
        return self._known[word]


def _neighbours(words: list[str], a: int, b: int) -> tuple[str, str]:
    return words[a - 1] if a else "", words[b] if b < len(words) else ""


def _pattern(words: list[str], a: int, b: int) -> str:
    return " ".join(map(part_of_pattern, words[a:b]))
