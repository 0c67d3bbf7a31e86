"""Near entries: all that reach the threshold are found, with the similarity of a comparison with each."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fieldcraft import Gazetteer
from fieldcraft.features.similarity import THRESHOLD, Nearest, entries_of
from oracles import similarity as oracle

ALPHABET = "abcdeé "


def drawn(rng: random.Random, n: int, longest: int) -> list[str]:
    """Texts of few letters, so that many are alike."""
    made = {"".join(rng.choices(ALPHABET, k=rng.randint(1, longest))).strip() for _ in range(n)}
    return sorted({" ".join(text.split()) for text in made} - {""})


@pytest.mark.parametrize("kind", ["exact", "jaccard", "cosine", "edit"])
@pytest.mark.parametrize("seed", range(3))
def test_every_candidate_has_the_similarity_of_its_nearest_entry(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    entries = drawn(rng, 40, 12)
    text = [
        rng.choice(" ".join(entries).split()) if rng.random() < 0.7 else word
        for word in ("".join(rng.choices("abcdeéz", k=rng.randint(1, 6))) for _ in range(40))
    ]
    near = Nearest(Gazetteer("list", entries), kind)
    longest, offsets = 4, np.array([0, 25, 25, 40])
    rows, values = near.similarities(text, offsets, longest, 2)
    found = dict(zip(rows.tolist(), values.tolist()))
    assert len(found) == len(rows)
    for a, b in zip(offsets, offsets[1:]):
        for start in range(a, b):
            for d in range(1, min(longest, b - start) + 1):
                expected = oracle.nearest(" ".join(text[start : start + d]), entries, kind)
                row = (start + d - 1) * longest + d - 1
                if expected >= THRESHOLD:
                    assert found.pop(row) == pytest.approx(expected, rel=1e-12)
                else:
                    assert row not in found
    assert not found


def test_threads_agree() -> None:
    rng = random.Random(9)
    entries = drawn(rng, 300, 10)
    text = [rng.choice(["ab", "ba", "cde", "dea", "abc", "bcd"]) for _ in range(6000)]
    near = Nearest(Gazetteer("list", entries), "cosine")
    offsets = np.arange(0, 6001, 20)
    alone, many = (near.similarities(text, offsets, 3, n) for n in (1, 3))
    for a, b in zip(alone, many):
        np.testing.assert_array_equal(a, b)


def test_case_and_entries_are_those_of_the_gazetteer() -> None:
    names = Gazetteer("names", ["New York", "YORK", "Zürich"], case="insensitive")
    assert sorted(entries_of(names)) == sorted(name.encode() for name in ("new york", "york", "zürich"))
    assert Nearest(names, "exact").nearest(["NEW", "york", "ZÜRICH"], 2) == [
        ((0, 2), 1.0),
        ((1, 2), 1.0),
        ((2, 3), 1.0),
    ]


def test_equal_texts_are_in_the_last_bin_and_empty_lists_match_nothing() -> None:
    near = Nearest(Gazetteer("cities", ["San Francisco"]), "cosine")
    rows, bins = near.cells(["San", "Francisco", "Sanfrancisco"], np.array([0, 2, 3]), 2)
    assert near.bins[bins[rows.tolist().index(3)]] == "1"
    for kind in ("exact", "jaccard", "cosine", "edit"):
        assert Nearest(Gazetteer("none", []), kind).nearest(["a", "b"], 2) == []
