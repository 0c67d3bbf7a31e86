"""The feature index against a naive count over the corpus, and what masks and growth rely on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft import ChainCRF
from fieldcraft.design import build_design
from fieldcraft.features.index import COLUMNS, FeatureIndex
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import encode_labels
from fieldcraft.models.parameters import Parameters

Key = tuple[str | None, int, int]  # attribute, previous label, label


def corpus(seed: int = 0, n_labels: int = 3) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, size=20)
    names = ["n1", "n2", "n3", "e|1", "e|2"]
    X = [[list(rng.choice(names, size=rng.integers(4))) for _ in range(n)] for n in lengths]
    return X, [[f"L{k}" for k in rng.integers(n_labels, size=n)] for n in lengths]


def naive(X: list[Any], y: list[list[str]]) -> tuple[Counter[Key], Counter[str | None]]:
    """How often each configuration holds, and how often its observation does."""
    counts: Counter[Key] = Counter()
    families: Counter[str | None] = Counter()
    for items, labels in zip(X, y):
        states = [int(label[1:]) for label in labels]
        for t, names in enumerate(items):
            if t:
                counts[None, states[t - 1], states[t]] += 1
                families[None] += 1
            for name in names:
                on_edge = name.startswith("e|")
                if on_edge and not t:
                    continue
                counts[str(name), states[t - 1] if on_edge else -1, states[t]] += 1
                families[str(name)] += 1
    return counts, families


def index_of(X: list[Any], y: list[list[str]], **rules: Any) -> tuple[FeatureIndex, list[Key]]:
    encoder = FreeFeatures(edge_prefix="e|")
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(y, ["L0", "L1", "L2"], encoded.offsets)
    index = build_design(encoder, encoded, gold, 3, **rules).index
    names = [None if a < 0 else encoder.attribute_text([a])[0] for a in index.attribute]
    return index, list(zip(names, index.previous.tolist(), index.label.tolist()))


@pytest.mark.parametrize("least", [1, 2, 4])
def test_supported(least: int) -> None:
    X, y = corpus()
    counts, families = naive(X, y)
    index, keys = index_of(X, y, min_count=least)
    expected = {key: n for key, n in counts.items() if n >= least}
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, index.count.tolist())) == expected
    assert index.family.tolist() == [families[name] for name, _, _ in keys]


def possible(X: list[Any], *, states: bool, steps: bool) -> set[Key]:
    """Every configuration of every attribute (states), every pair of labels (steps)."""
    names = {str(name) for items in X for names in items for name in names}
    pairs = [(x, y) for x in range(3) for y in range(3)]
    every: set[Key] = {(None, x, y) for x, y in pairs} if steps else set()
    if states:
        every |= {(n, -1, y) for n in names if not n.startswith("e|") for y in range(3)}
        every |= {(n, x, y) for n in names if n.startswith("e|") for x, y in pairs}
    return every


@pytest.mark.parametrize(
    ("features", "states", "steps"),
    [("all", True, True), ("all_states", True, False), ("all_transitions", False, True)],
)
def test_all(features: str, *, states: bool, steps: bool) -> None:
    X, y = corpus(seed=1)
    counts, _ = naive(X, y)
    index, keys = index_of(X, y, features=features)
    assert set(keys) == set(counts) | possible(X, states=states, steps=steps)
    assert index.count.tolist() == [counts[key] for key in keys]


def test_columns() -> None:
    X, y = corpus()
    index, keys = index_of(X, y)
    assert all(len(getattr(index, name)) == len(index) for name in COLUMNS)
    assert {getattr(index, name).dtype for name in COLUMNS} <= {np.dtype("i4"), np.dtype("i8")}
    assert index.is_edge.tolist() == [previous >= 0 for _, previous, _ in keys]
    expected = [-1 if n is None else int(n.startswith("e|")) for n, _, _ in keys]
    assert index.template.tolist() == expected
    assert index.window.shape == (len(index), 2)
    assert index.window[:, 0].tolist() == [-1 if previous >= 0 else 0 for _, previous, _ in keys]


def test_digests_tell_features_apart() -> None:
    X, y = corpus()
    index, _ = index_of(X, y)
    assert index.digest == index_of(X, y)[0].digest
    assert index.digest != index_of(X, y, min_count=2)[0].digest
    assert index.digest != index_of(X[::-1], y[::-1])[0].digest


def test_select() -> None:
    X, y = corpus()
    index, _ = index_of(X, y)
    mask = index.count >= 3
    kept = index.select(mask)
    assert len(kept) == mask.sum()
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(kept, name), getattr(index, name)[mask])
    assert kept.n_attributes == index.n_attributes


def test_append_keeps_old_ids_and_adds_each_new_row_once() -> None:
    X, y = corpus()
    every, _ = index_of(X, y)
    half = every.select(np.arange(len(every)) % 2 == 0)
    joined = half.append(every)
    assert len(joined) == len(every)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(joined, name)[: len(half)], getattr(half, name))
    assert set(described(joined)) == set(described(every))
    assert len(every.append(every)) == len(every)


def test_weights_align_with_features() -> None:
    """A weight by hand: one strong attribute moves the label it belongs to."""
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["P", "Q"], ["Q", "P"]]
    crf = ChainCRF().fit(X, y)
    index = crf.features_
    assert len(crf.weights_) == len(index)
    a = crf.encoder_.attribute_text(range(2)).index("a")
    (row,) = np.flatnonzero((index.attribute == a) & (index.label == crf.classes_.tolist().index("P")))
    assert crf.weights_[row] > 0.1
    weights = np.zeros(len(index))
    weights[row] = 2.0
    crf._settle(Parameters.of(crf.encoder_, index, weights, crf._parameters.structure), crf.classes_.tolist())
    (p,) = crf.predict_proba([[["a"]]])
    assert p[0, 0] == pytest.approx(1 / (1 + np.exp(-2.0)), rel=1e-12)


def test_the_label_columns_are_views() -> None:
    """Of one array, column by column: the core reads them in place."""
    index, _ = index_of(*corpus())
    mask = np.arange(len(index)) % 3 > 0
    for made in (index, index.select(mask), index.select(mask).append(index)):
        assert made.labels.dtype == np.int32
        for column in (made.previous, made.label):
            assert column.flags.c_contiguous
            assert np.shares_memory(column, made.labels)
        np.testing.assert_array_equal(made.labels, np.stack([made.previous, made.label], axis=1))
        np.testing.assert_array_equal(made.belongs_to("edge"), made.is_edge)
        np.testing.assert_array_equal(made.belongs_to("node"), ~made.is_edge)
        assert not made.belongs_to("segment").any()


def triples(*, codes: bool) -> FeatureIndex:
    """Features with one, two and three labels; ``codes`` names the parts in a column of its own."""
    rng = np.random.default_rng(3)
    n_labels = rng.integers(1, 4, 60)
    labels = rng.integers(0, 5, (60, 3)).astype(np.int32)
    labels[np.arange(3) < 3 - n_labels[:, None]] = -1
    attribute = np.arange(60, dtype=np.int32) // 2 - 1
    ones = np.ones(60, np.int32)
    part = (2 - (n_labels - 1)).astype(np.uint8)
    return FeatureIndex(
        attribute,
        labels,
        np.minimum(attribute, 0),
        ones,
        2 * ones,
        np.array([[0, 1]], np.int32),
        29,
        ("triple", "edge", "node") if codes else ("node", "edge", "triple"),
        part if codes else None,
    )


def described(index: FeatureIndex) -> list[tuple[Any, ...]]:
    """Each feature as attribute, labels and the name of its part."""
    return [
        (a, tuple(y for y in labels if y >= 0), index.parts[p])
        for a, labels, p in zip(index.attribute.tolist(), index.labels.tolist(), index.part.tolist())
    ]


@pytest.mark.parametrize("codes", [False, True], ids=["derived", "codes"])
def test_three_labels(*, codes: bool) -> None:
    index = triples(codes=codes)
    n_labels = (index.labels >= 0).sum(axis=1)
    for n, part in enumerate(("node", "edge", "triple"), start=1):
        np.testing.assert_array_equal(index.belongs_to(part), n_labels == n)
    np.testing.assert_array_equal(index.window[:, 0], 1 - n_labels)
    names = described(index)
    assert index.rows_of(index.attribute, *index.labels.T, codes=index.codes).tolist() == [
        names.index(name) for name in names
    ]
    odd = index.take(np.arange(1, 60, 2))
    joined = odd.append(index)
    assert described(joined) == [*names[1::2], *(name for name in names if name not in names[1::2])]
    assert len({index.digest, joined.digest, odd.digest}) == 3


def test_an_index_of_nodes_grows_by_longer_configurations() -> None:
    """One label column becomes three; parts are matched by name, whatever their numbers."""
    wide = triples(codes=True)
    nodes = wide.select(wide.belongs_to("node"))
    labels = nodes.labels[:, -1:]
    narrow = replace(nodes, labels=labels, parts=("node",), codes=None)
    assert narrow.previous.tolist() == [-1] * len(narrow)
    assert described(narrow) == described(nodes)
    joined = narrow.append(wide)
    rest = [name for name in described(wide) if name[2] != "node"]
    assert described(joined) == [*described(nodes), *rest]
    assert joined.labels.shape == (60, 3)


def test_keys_of_many_labels_do_not_overflow() -> None:
    """Six columns of numbers up to 65,534 have 96 bits; rows that differ in one number stay apart."""
    rng = np.random.default_rng(0)
    labels = np.asfortranarray(rng.choice([0, 1, 65534], (400, 6)).astype(np.int32))
    zeros, last = np.zeros(400, np.int32), np.full(400, 2**31 - 2, np.int32)
    windows = np.zeros((1, 2), np.int32)
    index = FeatureIndex(last, labels, zeros, zeros, zeros, windows, 2**31 - 1, tuple("abcdef"))
    table = {tuple(row): i for i, row in reversed(list(enumerate(labels.tolist())))}
    asked = rng.choice([0, 1, 65534], (400, 6)).astype(np.int32)
    rows = index.rows_of(last, *asked.T)
    assert rows.tolist() == [table.get(tuple(row), -1) for row in asked.tolist()]
    assert (rows >= 0).any()
    assert (rows < 0).any()
