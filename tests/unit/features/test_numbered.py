"""Lists of strings as numbers: against Python's own dicts; anything else is left to the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.features.numbered import numbered, spelled


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
    assert spelled(*read) == lists


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
