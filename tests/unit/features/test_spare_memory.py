"""Arrays of an encoded batch whose memory the next one takes: what is in use stays as it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from fieldcraft.features.user_features import FreeFeatures

RNG = np.random.default_rng(5)


def words(n: int) -> list[list[str]]:
    """Sequences of words, a tenth of which no encoder knows."""
    return [[f"w{k}" for k in RNG.integers(0, 1000, RNG.integers(0, 40))] for _ in range(n)]


def names(n: int) -> list[list[list[str]]]:
    return [[[word, f"{word}+"] for word in sequence] for sequence in words(n)]


def values(n: int) -> list[list[dict[str, float]]]:
    return [[{word: 0.5, f"{word}+": 2.0} for word in sequence] for sequence in words(n)]


def columns(n: int) -> list[dict[str, list[str]]]:
    return [{"word": sequence} for sequence in words(n)]


def templates() -> TemplateFeatures:
    return TemplateFeatures(Templates.parse("columns word\nword[-1..1]\nword & word[1]"))


CASES: dict[str, tuple[Any, Any]] = {
    "lists": (FreeFeatures, names),
    "values": (FreeFeatures, values),
    "columns": (templates, columns),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, list[Any], list[Encoded]]:
    """An encoder, batches of many sizes, and what another encoder makes of each."""
    make, draw = CASES[request.param]
    known, batches = draw(300), [draw(n) for n in (200, 7, 0, 400, 1, 200)]
    encoder, expected = make(), []
    encoder.encode(known, grow=True)
    for batch in batches:
        other = make()
        other.encode(known, grow=True)
        expected.append(other.encode(batch, grow=False))
    return encoder, batches, expected


def same(a: Encoded, b: Encoded) -> bool:
    return all(x is y if x is None or y is None else np.array_equal(x, y) for x, y in zip(a, b))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_batches_one_after_another(case: Any, n_threads: int) -> None:
    encoder, batches, expected = case
    with _core.Crew(n_threads):
        for _ in range(3):
            for batch, wanted in zip(batches, expected):
                assert same(encoder.encode(batch, grow=False, n_threads=n_threads), wanted)


def test_values_and_none_in_turn() -> None:
    """Blocks that had values are used again for some that have none."""
    encoder, other = FreeFeatures(), FreeFeatures()
    known = names(300)
    for one in (encoder, other):
        one.encode(known, grow=True)
    batches = [values(400), names(400), values(400), [*names(300), *values(100)]]
    with _core.Crew(3):
        found = [encoder.encode(batch, grow=False, n_threads=3) for batch in batches * 2]
    expected = [other.encode(batch, grow=False) for batch in batches * 2]
    assert all(map(same, found, expected))


def test_what_is_in_use_does_not_change(case: Any) -> None:
    encoder, batches, expected = case
    kept = [encoder.encode(batch, grow=False) for batch in batches]
    assert all(map(same, kept, expected))
    part = kept[0].attributes[5:9]  # a view keeps the whole array
    wanted = part.copy()
    del kept[0]
    for batch in batches:
        encoder.encode(batch, grow=False)
    assert np.array_equal(part, wanted)
    assert all(map(same, kept, expected[1:]))


def test_arrays_outlive_their_encoder(case: Any) -> None:
    encoder, batches, expected = case
    kept = encoder.encode(batches[0], grow=False)
    del encoder, case
    assert same(kept, expected[0])


def test_memory_is_used_again(case: Any) -> None:
    encoder, batches, _ = case

    def places() -> set[int]:
        encoded = encoder.encode(batches[0], grow=False)
        return {encoded.token_ptr.ctypes.data, encoded.attributes.ctypes.data}

    seen = places() | places()
    for _ in range(3):
        assert places() <= seen


def test_python_threads_share_an_encoder(case: Any) -> None:
    encoder, batches, expected = case

    def encode(i: int) -> bool:
        return all(
            same(encoder.encode(batch, grow=False, n_threads=2), wanted)
            for batch, wanted in zip(batches, expected)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(encode, range(12)))
