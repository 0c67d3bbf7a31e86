"""Pairs of similar words of a sequence: the skip edges of a skip chain.

Candidates are tokens that begin with a capital letter. Two of them form a pair where their words are

    same      equal
    stem      equal in lower case without a few endings of English (seminar, Seminars)
    edit      equal but for one letter that is inserted, left out or replaced, from 5 letters on
    function  similar according to a function (word, word) -> bool

With a cap, each token is joined with the nearest similar ones before it alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError

Ints = NDArray[np.int32]
Function = Callable[[str, str], bool]
SIMILARITIES = ("same", "stem", "edit")
LEAST_FORMS = 5  # a similarity that joins all of so many words or more distinguishes nothing
MOST_PER_TOKEN = 50  # pairs of a sequence, for each of its tokens
LEAST_LETTERS = 5  # of words that may differ in one
_ENDING = re.compile(r"(?<=\w{3})('s|ies|ing|es|ed|er|ly|s|y)$")


@dataclass(frozen=True)
class WordPairs:
    """The rule that joins tokens.

    Parameters
    ----------
    similarity : "same", "stem", "edit", or a function (word, word) -> bool of distinct words
    max_pairs_per_word : with how many of the nearest similar tokens before it a token is joined; None for all
    capitalised : whether candidates begin with a capital letter; False for all tokens
    """

    similarity: Any = "same"
    max_pairs_per_word: int | None = 10
    capitalised: bool = True

    def checked(self) -> WordPairs:
        """The same rule, or an InputError."""
        named = isinstance(self.similarity, str) and self.similarity in SIMILARITIES
        if not named and not callable(self.similarity):
            raise InputError(
                f"similarity={self.similarity!r}; give one of {', '.join(SIMILARITIES)}, or a function "
                "(word, word) -> bool"
            )
        if self.max_pairs_per_word is not None:
            whole_number(self.max_pairs_per_word, "max_pairs_per_word", 1)
        return self

    def of(self, words: Sequence[str], sequence: int = 0) -> Ints:
        """[P, 2] the pairs of a sequence, the earlier token first, sorted."""
        positions: dict[str, list[int]] = defaultdict(list)
        for t, word in enumerate(words):
            if not self.capitalised or word[:1].isupper():
                positions[word].append(t)
        similar = self._similar(list(positions), sequence)
        pairs: list[tuple[int, int]] = []
        for word, later in positions.items():
            before = sorted(t for other in (word, *similar.get(word, ())) for t in positions[other])
            for t in later:
                earlier = [u for u in before if u < t]
                kept = earlier if self.max_pairs_per_word is None else earlier[-self.max_pairs_per_word :]
                pairs += [(u, t) for u in kept]
        if len(pairs) > MOST_PER_TOKEN * len(words):
            raise self._too_many(sequence, len(pairs), f"{len(words)} tokens")
        return np.array(sorted(pairs), np.int32).reshape(-1, 2)

    def _similar(self, forms: list[str], sequence: int) -> dict[str, list[str]]:
        """The other forms that each form is similar to."""
        if self.similarity == "same":
            return {}
        joined = list(self._joined(forms))
        if len(forms) >= LEAST_FORMS and len(joined) == len(forms) * (len(forms) - 1) // 2:
            raise self._too_many(sequence, len(joined), f"{len(forms)} different words, all of them,")
        similar: dict[str, list[str]] = defaultdict(list)
        for a, b in joined:
            similar[a].append(b)
            similar[b].append(a)
        return similar

    def _joined(self, forms: list[str]) -> Iterable[tuple[str, str]]:
        if callable(self.similarity):
            return ((a, b) for a, b in combinations(forms, 2) if self.similarity(a, b))
        groups: dict[str, list[str]] = defaultdict(list)
        if self.similarity == "stem":
            for form in forms:
                groups[stem(form)].append(form)
            return (pair for group in groups.values() for pair in combinations(group, 2))
        for form in forms:
            if len(form) >= LEAST_LETTERS:
                for key in {form, *(form[:i] + form[i + 1 :] for i in range(len(form)))}:
                    groups[key].append(form)
        near = {pair for group in groups.values() for pair in combinations(group, 2) if one_edit(*pair)}
        return sorted(near)

    def _too_many(self, sequence: int, n: int, among: str) -> InputError:
        cap = "no cap" if self.max_pairs_per_word is None else f"a cap of {self.max_pairs_per_word}"
        return InputError(
            f"sequence {sequence}: similarity={self.similarity!r} joins {n:,} pairs among {among} with {cap} "
            "(max_pairs_per_word); a similarity that connects everything says nothing: choose a narrower "
            "one, or a lower cap"
        )


RELATIONS = ("equal", "inside", "contains", "other")  # of the phrases that two words stand in


def phrase_relation(words: Sequence[str], u: int, v: int) -> str:
    """How the phrase around word u lies to that around word v: runs of capitalised words.

    >>> words = "China protests . The China Daily reports : China".split()
    >>> phrase_relation(words, 0, 4), phrase_relation(words, 4, 8), phrase_relation(words, 0, 8)
    ('inside', 'contains', 'equal')
    """
    first, second = phrase_around(words, u), phrase_around(words, v)
    if first == second:
        return "equal"
    if is_within(first, second):
        return "inside"
    return "contains" if is_within(second, first) else "other"


def phrase_around(words: Sequence[str], t: int) -> list[str]:
    """The capitalised words around position t without a gap; the word alone if it is none itself."""
    start, end = t, t + 1
    if words[t][:1].isupper():
        while start > 0 and words[start - 1][:1].isupper():
            start -= 1
        while end < len(words) and words[end][:1].isupper():
            end += 1
    return list(words[start:end])


def is_within(short: list[str], long: list[str]) -> bool:
    """Whether the words of one phrase follow one another in the other."""
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def stem(word: str) -> str:
    """A word in lower case without a common ending.

    >>> stem("Lectures"), stem("lecture"), stem("Lecturing")
    ('lectur', 'lectur', 'lectur')
    """
    short = _ENDING.sub("", word.lower())
    return short[:-1] if len(short) > 3 and short[-1] in "ei" else short


def one_edit(a: str, b: str) -> bool:
    """Whether words differ in at most one letter that is inserted, left out or replaced.

    >>> one_edit("Jeffrey", "Jefferey"), one_edit("Smith", "Smyth"), one_edit("Smith", "Smut")
    (True, True, False)
    """
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), len(a))
    return a[i + (len(a) == len(b)) :] == b[i + 1 :]
