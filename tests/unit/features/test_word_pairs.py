"""Pairs of similar words against a plain comparison of all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.paired import PairFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.word_pairs import WordPairs, one_edit, stem

WORDS = ["Smith", "met", "Smyth", "Smith", "Lectures", "lecture", "Lecture", "Smiths", "Ann", "Smith"]


def distance(a: str, b: str) -> int:
    """Levenshtein's, by its recursion."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y)))
    return row[-1]


RULES = {
    "same": lambda a, b: a == b,
    "stem": lambda a, b: stem(a) == stem(b),
    "edit": lambda a, b: a == b or (min(len(a), len(b)) >= 5 and distance(a, b) <= 1),
}


@pytest.mark.parametrize("similarity", RULES)
@pytest.mark.parametrize("capitalised", [True, False])
def test_pairs_are_those_of_all_comparisons(similarity: str, capitalised: bool) -> None:
    found = WordPairs(similarity, None, capitalised).of(WORDS).tolist()
    candidates = [t for t, word in enumerate(WORDS) if not capitalised or word[0].isupper()]
    alike = RULES[similarity]
    assert found == [[u, v] for u, v in combinations(candidates, 2) if alike(WORDS[u], WORDS[v])]
    own = WordPairs(lambda a, b: alike(a, b), None, capitalised)
    assert own.of(WORDS).tolist() == found


def test_a_cap_keeps_the_nearest_before() -> None:
    assert WordPairs("same", 1).of(["A", "A", "b", "A"]).tolist() == [[0, 1], [1, 3]]
    assert WordPairs("same", 2).of(["A", "A", "b", "A"]).tolist() == [[0, 1], [0, 3], [1, 3]]
    assert WordPairs().of([]).shape == (0, 2)


def test_one_edit_is_a_distance_of_one() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), rng.integers(0, 5))) for _ in range(60)]
    assert all(one_edit(a, b) == (distance(a, b) <= 1) for a in words for b in words)


def test_pairs_look_at_both_ends_each_attribute_once() -> None:
    encoder = PairFeatures(
        TemplateFeatures(Templates.parse("edge: word\nword\nword[-1]\nlower(word)")), WordPairs()
    )
    X = [["a", "B", "x", "B"], ["c"], ["B", "a", "B"]]
    encoded = encoder.encode(X, grow=True)
    assert encoded.scope.tolist() == [[1, 3], [5, 7]]
    assert encoded.pairs.offsets.tolist() == [0, 1, 1, 2]
    texts = [
        sorted(encoder.attribute_text(encoded.pairs.attributes[a:b]))
        for a, b in zip(encoded.pairs.token_ptr, encoded.pairs.token_ptr[1:])
    ]
    assert texts[0] == ["lower(word)=b", "word=B", "word[-1]=a", "word[-1]=x"]  # and no edge attribute
    part = encoded.take(np.array([2, 0]))
    assert part.scope.tolist() == [[0, 2], [4, 6]]
    assert isinstance(part, Encoded)
    assert part.pairs.attributes.tolist() == [
        *encoded.pairs.attributes[encoded.pairs.token_ptr[1] :],
        *encoded.pairs.attributes[: encoded.pairs.token_ptr[1]],
    ]
