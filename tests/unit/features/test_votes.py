"""Votes of a document's other mentions: against all pairs of words, and as templates of a second model."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.oracles import votes as oracle

import fieldcraft as fc
from fieldcraft.errors import InputError

LABELS = ["LOC", "O", "ORG"]


@pytest.mark.parametrize("capitalised", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_factors_are_those_of_all_pairs(seed: int, capitalised: bool) -> None:
    rng = random.Random(seed)
    words = rng.choices(["China", "Daily", "The", "said", "in", "Bank"], k=rng.randint(0, 25))
    predicted = rng.choices(LABELS, k=len(words))
    found = fc.document_votes(words, predicted, LABELS, capitalised=capitalised)
    for name, expected in zip(("majority", "inside"), oracle.factors(words, predicted, capitalised)):
        scope, rows = found[name]
        assert scope[:, 0].tolist() == sorted(expected)
        table = [[float(expected[t].get(label, 0)) for label in LABELS] for t in sorted(expected)]
        np.testing.assert_array_equal(rows.toarray(), np.array(table).reshape(-1, len(LABELS)))


def document(rng: random.Random) -> tuple[list[str], list[str], list[str]]:
    """Synthetic: words, labels, and what a first model says, which is wrong at one mention of three."""
    place, paper = rng.choice(["China", "Peru", "Mali", "Cuba"]), rng.choice(["Daily", "Times", "Post"])
    words = f"in {place} , {place} , The {place} {paper} , {place} .".split()
    gold = ["ORG" if 5 <= t <= 7 else "LOC" if word == place else "O" for t, word in enumerate(words)]
    first = list(gold)
    first[rng.choice([1, 3, 9])] = "O"
    return words, gold, first


def instance(words: list[str], gold: list[str], first: list[str], *, votes: bool) -> fc.GraphInstance:
    rows = np.array([[float(label == y) for y in LABELS] for label in first])
    cliques: dict[str, Any] = {"first": (np.arange(len(words)), rows)}
    if votes:
        cliques |= fc.document_votes(words, first, LABELS)
    return fc.GraphInstance(len(words), cliques, gold)


def test_a_second_model_repairs_what_the_first_one_missed() -> None:
    rng = random.Random(1)
    documents = [document(rng) for _ in range(40)]
    scores = {}
    for votes in (False, True):
        made = [instance(*one, votes=votes) for one in documents]
        names = ["first", "majority", "inside"] if votes else ["first"]
        scores[votes] = fc.GraphCRF(names, labels=LABELS).fit(made[:20]).score(made[20:])
    assert scores[False] < 0.95
    assert scores[True] == 1.0


def test_refusals() -> None:
    with pytest.raises(InputError, match="2 words, labels of 1; give one label for each word"):
        fc.document_votes(["A", "B"], ["O"], LABELS)
    with pytest.raises(InputError, match="word 1: label 'PER' is none of LOC, O, ORG"):
        fc.document_votes(["A", "B"], ["O", "PER"], LABELS)
