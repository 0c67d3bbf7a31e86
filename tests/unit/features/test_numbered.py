"""Lists of strings as numbers: against Python's own dicts; anything else is left to the caller."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft import _core
from fieldcraft.features.numbered import StringLists, digests, numbered, spelled


class Name(str):
    """A str that is not exactly a str."""


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3))))
def test_numbers_follow_first_appearance(lists: list[list[str]]) -> None:
    number: dict[str, int] = {}
    expected = [[number.setdefault(text, len(number)) for text in texts] for texts in lists]
    read = numbered(lists)
    assert read is not None
    assert read.names == list(number)
    bounds = read.offsets.tolist()
    assert [read.numbers[a:b].tolist() for a, b in zip(bounds, bounds[1:])] == expected
    assert (read.numbers.dtype, read.offsets.dtype) == (np.int32, np.int64)
    assert spelled(*read).tolist() == lists


def test_threads_number_alike() -> None:
    rng = np.random.default_rng(0)
    texts = [f"{'é' * (i % 3)}{i}" for i in range(400)]
    lists = [[texts[k] for k in rng.geometric(0.02, size=n) % 400] for n in rng.integers(0, 9, 5000)]
    alone = numbered(lists)
    assert alone is not None
    for n in (2, 3, 16, 2**31 - 1):
        with _core.Crew(n):
            together = numbered(lists)
            assert numbered([*lists, ["a", None]]) is None
        assert together is not None
        assert together.names == alone.names
        assert np.array_equal(together.numbers, alone.numbers)
        assert np.array_equal(together.offsets, alone.offsets)
    assert spelled(*alone).tolist() == lists


def test_lists_know_their_numbers() -> None:
    lists = StringLists([["a", "b"], ["b"]])
    assert lists == [["a", "b"], ["b"]]
    assert numbered(lists) is lists.numbered
    assert numbered(StringLists([["a", None]])) is None


def test_digests_see_every_byte() -> None:
    content = np.random.default_rng(0).integers(0, 256, 200_000, np.uint8)
    expected = digests(content)
    with _core.Crew(3):
        assert np.array_equal(digests(content), expected)
    assert np.array_equal(digests(content.view(np.uint64)), expected)
    for at in (0, 31, 32, 65_535, 65_536, 199_999):
        other = content.copy()
        other[at] ^= 1
        assert np.flatnonzero(digests(other) != expected).tolist() == [at // 65_536]
    assert not np.array_equal(digests(content[:-1]), expected)
    assert len(digests(content[:0])) == 0


OTHERS: list[Any] = [
    [["a", None]],
    [["a", {"b"}]],
    [["a", ["b"]]],
    [["a"], ("b",)],
    [["a"], "b"],
    [["a", Name("b")]],
    [["a", np.str_("b")]],
    [["a", "\ud800"]],
    [["a", 1]],
    (["a"],),
    "ab",
    None,
]


@pytest.mark.parametrize("lists", OTHERS, ids=range(len(OTHERS)))
def test_anything_else_is_not_read(lists: Any) -> None:
    assert numbered(lists) is None


@pytest.mark.parametrize(
    ("numbers", "offsets"),
    [([0, 2], [0, 2]), ([0, -1], [0, 2]), ([0, 1], [0, 1]), ([0, 1], [0, 2, 1, 2]), ([0, 1], [1, 2])],
)
def test_numbers_and_offsets_out_of_range_are_refused(numbers: list[int], offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="numbers|offsets"):
        spelled(["a", "b"], np.array(numbers, np.int32), np.array(offsets))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(2),
        np.empty(1, object),
        np.empty((2, 1), object),
        np.empty(4, object)[::2],
        np.frombuffer(bytes(16), np.int64),
        [None, None],
    ],
    ids=range(6),
)
def test_lists_are_written_to_arrays_of_objects_alone(out: Any) -> None:
    with pytest.raises((ValueError, TypeError, BufferError)):
        _core.spell_lists(["a"], np.zeros(2, np.int32), np.array([0, 1, 2]), out)


def test_an_array_lets_go_of_what_it_had() -> None:
    before = object()
    out = np.array([before, before, None], object)
    references = sys.getrefcount(before)
    _core.spell_lists(["a"], np.zeros(3, np.int32), np.array([0, 1, 1, 3]), out)
    assert out.tolist() == [["a"], [], ["a", "a"]]
    assert sys.getrefcount(before) == references - 2
