"""The packed index is the index: any features in any order go in and come out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldcraft.features.index import COLUMNS, FeatureIndex
from fieldcraft.features.packed import PackedIndex

WINDOWS = np.array([[0, 0], [-1, 1]], np.int32)


def make(rows: list[tuple[int, int, int]], n_attributes: int, seed: int) -> FeatureIndex:
    attribute, previous, label = np.array(rows, np.int32).reshape(-1, 3).T
    draw = np.random.default_rng(seed)
    count = draw.choice([0, 1, 254, 255, 256, 2**31 - 1], len(rows)).astype(np.int32)
    template = np.where(attribute >= 0, attribute % 2, -1).astype(np.int32)
    labels = np.stack([previous, label]).T
    columns = [np.ascontiguousarray(c) for c in (template, count, count[::-1])]
    return FeatureIndex(np.ascontiguousarray(attribute), labels, *columns, WINDOWS, n_attributes)


def check(index: FeatureIndex, n_states: int) -> None:
    packed = PackedIndex.of(index, n_states)
    again = PackedIndex.from_file(n_states, packed.numbers, packed.to_file())
    template = np.arange(index.n_attributes, dtype=np.int32) % 2
    for form in (packed, again):
        out = form.index(template, WINDOWS)
        assert out.digest == index.digest
        for name in COLUMNS:
            np.testing.assert_array_equal(getattr(out, name), getattr(index, name), err_msg=name)
    weights = np.random.default_rng(1).normal(size=len(index))
    np.testing.assert_array_equal(packed.features(packed.places(weights)), weights)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_round_trip(data: st.DataObject) -> None:
    S, A = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 6))
    nodes = [(a, -1, y) for a in range(A) for y in range(S)]
    edges = [(a, x, y) for a, x, y in itertools.product(range(-1, A), range(S), range(S))]
    rows = data.draw(st.lists(st.sampled_from(nodes + edges), unique=True, max_size=40))
    check(make(rows, A, data.draw(st.integers(0, 99))), S)


@pytest.mark.parametrize("S", [255, 256, 257, 300])
def test_many_labels(S: int) -> None:
    """Labels go from one byte to two."""
    rows = [(-1, 0, S - 1), *((0, -1, y) for y in range(S)), (1, -1, S - 1), (2, S - 1, 0)]
    check(make(rows, 3, 0), S)


def test_a_feature_that_occurs_twice() -> None:
    with pytest.raises(ValueError, match="a feature occurs twice"):
        PackedIndex.of(make([(0, -1, 0), (0, -1, 0)], 1, 0), 1)
