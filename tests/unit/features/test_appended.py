"""Sequences encoded one by one: the same arrays as those of one call, whatever is split off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft.errors import InputError
from fieldcraft.features.appended import AppendedSequences, Growing
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.user_features import FreeFeatures


def sequences(n: int, seed: int = 0) -> list[list[Any]]:
    """Lists and dicts, values from the tenth sequence on, an empty sequence and an empty item among them."""
    rng = np.random.default_rng(seed)
    found: list[list[Any]] = [[], [[]]]
    for i in range(n):
        words = rng.integers(40, size=rng.integers(1, 9))
        if i % 2:
            found.append([{"w": str(w), "even": w % 2 == 0, "size": 1 if i < 10 else w / 4} for w in words])
        else:
            found.append([[f"w:{w}", "bias"] for w in words])
    return found


def appended(X: list[list[Any]]) -> AppendedSequences:
    corpus = AppendedSequences()
    for items in X:
        corpus.append(items)
    return corpus


def assert_same(a: Encoded, b: Encoded) -> None:
    for mine, expected in zip(a, b):
        if expected is None:
            assert mine is None
        else:
            assert mine.dtype == expected.dtype
            np.testing.assert_array_equal(mine, expected)


def names(encoder: FreeFeatures) -> list[str]:
    return encoder.attribute_text(range(encoder.n_attributes))


@pytest.mark.parametrize("n", [0, 5, 300])
@pytest.mark.parametrize("more", [[], [[["w:3", "unseen"]], [["bias"]]]])
def test_all_sequences(n: int, more: list[Any]) -> None:
    X = sequences(n)
    split = appended(X).split(np.arange(len(X)), np.arange(0), more)
    encoder = FreeFeatures()
    assert_same(split.train, encoder.encode(X + more, grow=True))
    assert names(split.encoder) == names(encoder)
    assert len(split.held_out.offsets) == 1


@pytest.mark.parametrize("more", [[], [[["w:3", "unseen", "w:39"]]]])
@pytest.mark.parametrize("held", [[0, 3, 4, 30], [*range(11, 50)], [*range(52)]])
def test_held_out_sequences(held: list[int], more: list[Any]) -> None:
    X = sequences(50)
    train = [i for i in range(len(X)) if i not in held]
    split = appended(X).split(np.array(train, int), np.array(held), more)
    encoder = FreeFeatures()
    assert_same(split.train, encoder.encode([X[i] for i in train] + more, grow=True))
    assert names(split.encoder) == names(encoder)
    assert_same(split.held_out, encoder.encode([X[i] for i in held], grow=False))


def test_a_split_does_not_change_when_more_is_appended() -> None:
    X = sequences(30)
    corpus = appended(X[:20])
    split = corpus.split(np.arange(20), np.arange(0))
    before, n = [None if a is None else a.copy() for a in split.train], split.encoder.n_attributes
    for items in X[20:]:
        corpus.append(items)
    assert_same(split.train, Encoded(*before))
    assert split.encoder.n_attributes == n
    assert_same(corpus.split(np.arange(len(X)), np.arange(0)).train, FreeFeatures().encode(X, grow=True))


def test_a_refused_sequence_leaves_no_trace() -> None:
    X = sequences(4)
    corpus = appended(X)
    with pytest.raises(InputError, match=r"^sequence 6, token 1: an item must be"):
        corpus.append([["new"], 5])
    assert len(corpus) == 6
    assert_same(corpus.split(np.arange(6), np.arange(0)).train, FreeFeatures().encode(X, grow=True))


def test_growing_array() -> None:
    array = Growing(np.int32)
    views = []
    for i in range(200):
        array.extend(np.arange(i, i + 3))
        views.append(array.view())
    expected = np.concatenate([np.arange(i, i + 3) for i in range(200)])
    np.testing.assert_array_equal(array.view(), expected)
    for i, view in enumerate(views):
        np.testing.assert_array_equal(view, expected[: 3 * (i + 1)])
    assert len(array._room) <= 1.5 * len(array) + 64
