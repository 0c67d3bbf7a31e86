"""Features whose methods run code of their own while they are read: an error or an answer, never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, _core
from fieldcraft.errors import InputError
from fieldcraft.features.user_features import FreeFeatures

PLAIN = {"b": 1.0}
LONG = "name" * 60  # too long for Python's pool of small strings


def read(*tokens: Any) -> ChainCRF:
    y = [["A", "B"][: len(tokens)]]
    return ChainCRF(optimiser=LBFGS(max_iterations=1)).fit([list(tokens)], y)


def names(crf: ChainCRF) -> set[str]:
    return set(crf.encoder_.attribute_text(range(crf.encoder_.n_attributes)))


class Number:
    """A number that does something else first."""

    def __init__(self, act: Any) -> None:
        self.act = act

    def __float__(self) -> float:
        self.act()
        return 2.0


class Fresh(tuple[str, ...]):
    """Iteration makes strings that nothing else holds."""

    def __iter__(self) -> Iterator[str]:
        return (f"{LONG}{i}" for i in range(100))


def test_a_dict_that_holds_itself() -> None:
    features: dict[str, Any] = {}
    features["a"] = features
    with pytest.raises(InputError, match="sequence 0, token 0: feature dicts are nested more than 50 deep"):
        read(features, PLAIN)


def test_nesting_up_to_the_limit() -> None:
    features: dict[str, Any] = {"x": 1.0}
    for _ in range(50):
        features = {"a": features}
    assert "a:" * 50 + "x" in names(read(features, PLAIN))


def test_strings_made_on_the_way() -> None:
    assert {f"{LONG}{i}" for i in range(100)} <= names(read(Fresh(), PLAIN))


@pytest.mark.parametrize("size", [0, 1000])
def test_a_dict_that_changes(size: int) -> None:
    def change() -> None:
        features.clear()
        features.update({f"{LONG}{i}": 1.0 for i in range(size)})

    features: dict[str, Any] = {f"{LONG}{i}": Number(change) for i in range(50)}
    with pytest.raises(InputError, match="changed its size while it was read"):
        read(features, PLAIN)


def test_a_corpus_that_is_emptied() -> None:
    def empty() -> None:
        for sequence in X:
            sequence.clear()
        X.clear()

    X: list[Any] = [[[LONG + "x"], {"a": Number(empty)}, PLAIN] for _ in range(3)]
    with pytest.raises(InputError):
        ChainCRF().fit(X, [["A", "B", "A"]] * 3)


def test_names_before_a_foreign_number_stay() -> None:
    def drop() -> None:
        tokens[0].clear()

    tokens: list[Any] = [[LONG + "x", LONG + "y"], {LONG + "z": Number(drop), "w": "v"}]
    assert names(read(*tokens)) >= {LONG + "x", LONG + "y", LONG + "z", "w:v"}


@pytest.mark.parametrize("n_threads", [1, 2])
def test_sequences_that_change_before_it_is_their_turn(n_threads: int) -> None:
    """Strings are fetched ahead; lists that code of the user has freed are not looked at any more."""

    def change() -> None:
        for sequence in X[501:]:
            sequence[:] = [[LONG + "new"]] * 7

    X: list[Any] = [[[f"{LONG}{i}{t}{k}" for k in range(9)] for t in range(9)] for i in range(1000)]
    X[500][3] = {"a": Number(change)}
    features = FreeFeatures()
    with _core.Crew(n_threads):
        encoded = features.encode(X, grow=True, n_threads=n_threads)
    lengths = np.diff(encoded.offsets)
    assert set(lengths[:501]) == {9}
    assert lengths[501] == 7
    next_one = encoded.attributes[encoded.token_ptr[encoded.offsets[501]]]
    assert features.attribute_text([next_one]) == [LONG + "new"]
    if n_threads == 1:  # with several, another thread may have read the others before
        assert set(lengths[501:]) == {7}
