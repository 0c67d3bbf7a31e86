"""Free features: every form that an item may take, against the attributes spelled out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fieldcraft import LBFGS, ChainCRF
from fieldcraft.errors import FieldcraftError
from fieldcraft.features.user_features import FreeFeatures


def read(items: Any, encoder: FreeFeatures | None = None, *, grow: bool = True) -> list[dict[str, float]]:
    """name -> summed value of each token of one sequence."""
    encoder = encoder or FreeFeatures()
    offsets, ptr, ids, values = encoder.encode([items], grow=grow)
    assert offsets.tolist() == [0, len(ptr) - 1]
    assert (offsets.dtype, ptr.dtype, ids.dtype) == (np.int64, np.int64, np.int32)
    values = np.ones(len(ids)) if values is None else values
    rows: list[dict[str, float]] = []
    for a, b in zip(ptr[:-1], ptr[1:]):
        row: dict[str, float] = {}
        for name, value in zip(encoder.attribute_text(ids[a:b]), values[a:b]):
            row[name] = row.get(name, 0.0) + value
        rows.append(row)
    return rows


ITEMS: list[tuple[Any, dict[str, float]]] = [
    ("a", {"a": 1.0}),
    (["a", "b"], {"a": 1.0, "b": 1.0}),
    (("a", "b"), {"a": 1.0, "b": 1.0}),
    ({"a", "b"}, {"a": 1.0, "b": 1.0}),
    (frozenset({"a"}), {"a": 1.0}),
    (["a", "a"], {"a": 2.0}),
    ([], {}),
    ({}, {}),
    ("", {"": 1.0}),
    ({"k": "v"}, {"k:v": 1.0}),
    ({"k": ""}, {"k:": 1.0}),
    ({"k": True}, {"k": 1.0}),
    ({"k": False}, {}),
    ({"k": 3}, {"k": 3.0}),
    ({"k": -2}, {"k": -2.0}),
    ({"k": 0}, {}),
    ({"k": 0.0}, {}),
    ({"k": 0.25}, {"k": 0.25}),
    ({"k": np.float32(0.5)}, {"k": 0.5}),
    ({"k": np.float64(0.5)}, {"k": 0.5}),
    ({"k": np.int64(4)}, {"k": 4.0}),
    ({"k": np.bool_(True)}, {"k": 1.0}),
    ({"k": np.bool_(False)}, {}),
    ({"k": np.str_("v")}, {"k:v": 1.0}),
    ({"k": ["v", "w"]}, {"k:v": 1.0, "k:w": 1.0}),
    ({"k": ("v",)}, {"k:v": 1.0}),
    ({"k": {"v"}}, {"k:v": 1.0}),
    ({"k": {"v": 2.0, "w": "x"}}, {"k:v": 2.0, "k:w:x": 1.0}),
    ({"k": {"v": {"w": {"x": True}}}}, {"k:v:w:x": 1.0}),
    ({"k": {"v": ["w"]}}, {"k:v:w": 1.0}),
    ({"é": "ü", "日": "本"}, {"é:ü": 1.0, "日:本": 1.0}),
    ({"a": 1.0, "b": "x", "c": 2}, {"a": 1.0, "b:x": 1.0, "c": 2.0}),
]


@pytest.mark.parametrize(("item", "expected"), ITEMS, ids=range(len(ITEMS)))  # a set has no fixed text
def test_items(item: Any, expected: dict[str, float]) -> None:
    assert read([item]) == [expected]


def test_forms_may_be_mixed_in_a_sequence() -> None:
    items = [item for item, _ in ITEMS]
    assert read(items) == [expected for _, expected in ITEMS]
    assert read(tuple(items)) == [expected for _, expected in ITEMS]


def test_a_dict_of_text_is_the_joined_name() -> None:
    """sklearn-crfsuite's rule: {"k": "v"} and "k:v" are one attribute."""
    encoder = FreeFeatures()
    first = encoder.encode([[{"k": "v"}], [["k:v"]], [{"k": ["v"]}], [{"k:v": 1}]], grow=True)
    assert first.attributes.tolist() == [0, 0, 0, 0]
    assert first.values is None


def flat(item: Any, prefix: str = "") -> dict[str, float]:
    """The rules once more, in Python."""
    if isinstance(item, str):
        return {prefix + item: 1.0}
    if isinstance(item, list):
        row: dict[str, float] = {}
        for name in item:
            row[prefix + name] = row.get(prefix + name, 0.0) + 1.0
        return row
    row = {}
    for key, value in item.items():
        if isinstance(value, (str, list, dict)):
            inner = flat(value, f"{prefix}{key}:")
        else:
            inner = {prefix + key: float(value)} if value else {}
        for name, number in inner.items():
            row[name] = row.get(name, 0.0) + number
    return row


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
numbers = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(-1e6, 1e6))
values = st.recursive(
    st.one_of(texts, numbers, st.lists(texts, max_size=3)),
    lambda inner: st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
items = st.one_of(texts, st.lists(texts, max_size=4), st.dictionaries(texts, values, max_size=4))


@given(st.lists(items, max_size=5))
def test_any_items(given_items: list[Any]) -> None:
    found = read(given_items)
    expected = [flat(item) for item in given_items]
    assert [set(row) for row in found] == [set(row) for row in expected]
    for row, wanted in zip(found, expected):
        assert all(row[name] == pytest.approx(wanted[name], abs=1e-9) for name in row)


def test_ids_follow_first_appearance() -> None:
    encoder = FreeFeatures()
    encoded = encoder.encode([[["c", "a"], ["b", "a"]], [["d", "c"]]], grow=True)
    assert encoded.attributes.tolist() == [0, 1, 2, 1, 3, 0]
    assert encoder.attribute_text(range(4)) == ["c", "a", "b", "d"]
    assert encoder.n_attributes == 4


def test_a_frozen_table_leaves_out_what_it_does_not_know() -> None:
    encoder = FreeFeatures()
    encoder.encode([[["a", "b"]]], grow=True)
    assert read([["b", "new"], {"a": 2.0, "z": 3.0}], encoder, grow=False) == [{"b": 1.0}, {"a": 2.0}]
    assert encoder.n_attributes == 2


def test_values_appear_only_where_one_differs_from_one() -> None:
    plain = FreeFeatures().encode([[["a"], {"b": 1, "c": True}]], grow=True)
    assert plain.values is None
    valued = FreeFeatures().encode([[["a"], {"b": 2}], [["c"]]], grow=True)
    assert valued.values is not None
    assert valued.values.tolist() == [1.0, 2.0, 1.0]


DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
MATRICES: dict[str, Any] = {
    "float64": DENSE,
    "float32": DENSE.astype(np.float32),
    "fortran": np.asfortranarray(DENSE),
    "csr": sparse.csr_matrix(DENSE),
    "csc": sparse.csc_matrix(DENSE),
    "coo": sparse.coo_matrix(DENSE),
    "csr_array": sparse.csr_array(DENSE),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    assert read(MATRICES[name]) == [{"1": 1.5}, {"0": 2.0, "2": -1.0}, {}]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint8])
def test_matrices_of_other_types(dtype: Any) -> None:
    assert read((DENSE != 0).astype(dtype)) == [{"1": 1.0}, {"0": 1.0, "2": 1.0}, {}]


def test_explicit_zeros_and_duplicates_of_sparse_matrices() -> None:
    doubled = sparse.coo_matrix(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert read(doubled) == [{"1": 3.0}, {"0": 5.0}]


def test_matrices_and_dicts_are_one_model() -> None:
    rng = np.random.default_rng(0)
    mats = [np.round(rng.normal(size=(n, 3)), 2) for n in (4, 1, 6, 3)]
    dicts = [[{str(j): float(v) for j, v in enumerate(row)} for row in m] for m in mats]
    y = [[f"L{k}" for k in rng.integers(2, size=len(m))] for m in mats]
    forms: list[Any] = [mats, dicts, [sparse.csr_matrix(m) for m in mats]]
    models = [ChainCRF(optimiser=LBFGS(max_iterations=10), n_jobs=1).fit(form, y) for form in forms]
    for model, form in zip(models[1:], forms[1:]):
        assert model.weights_.tobytes() == models[0].weights_.tobytes()
        assert model.predict(form).tolist() == models[0].predict(mats).tolist()


def test_sequences_without_tokens() -> None:
    encoded = FreeFeatures().encode([np.zeros((0, 2)), np.ones((1, 2)), np.zeros((0, 2))], grow=True)
    assert encoded.offsets.tolist() == [0, 0, 1, 1]
    assert FreeFeatures().encode([[], [["a"]], []], grow=True).offsets.tolist() == [0, 0, 1, 1]


class TestHashing:
    def test_ids_stay_below_the_size(self) -> None:
        encoder = FreeFeatures(hash_size=16)
        names = [[f"w{k}" for k in range(200)]]
        ids = encoder.encode([names], grow=True).attributes
        assert encoder.n_attributes == 16
        assert set(ids.tolist()) == set(range(16))
        assert (ids == encoder.encode([names], grow=False).attributes).all()

    def test_another_encoder_hashes_alike(self) -> None:
        names = [[["a", "b", "c"]]]
        one, two = (FreeFeatures(hash_size=999).encode(names, grow=True) for _ in range(2))
        assert one.attributes.tolist() == two.attributes.tolist()

    def test_a_large_table_is_no_table(self) -> None:
        """Without collisions hashing changes nothing but the order of the weights."""
        X = [[["a", "b"], ["c"]], [["b"], ["a", "c"]]]
        y = [["P", "Q"], ["Q", "P"]]
        exact = LBFGS(tolerance=1e-10, objective_tolerance=0.0)
        hashed = ChainCRF(hash_size=2**20, optimiser=exact).fit(X, y)
        plain = ChainCRF(optimiser=exact).fit(X, y)
        np.testing.assert_allclose(np.sort(hashed.weights_), np.sort(plain.weights_), atol=1e-8)
        assert hashed.objective_value_ == pytest.approx(plain.objective_value_, rel=1e-12)


def test_edge_prefix_divides_the_attributes() -> None:
    encoder = FreeFeatures(edge_prefix="e|")
    encoder.encode([[["a", "e|a", "b"], ["e|", "xe|"]]], grow=True)
    names = encoder.attribute_text(range(encoder.n_attributes))
    parts = [encoder.templates[k].part for k in encoder.attribute_template]
    assert dict(zip(names, parts)) == {
        "a": "node", "e|a": "edge", "b": "node", "e|": "edge", "xe|": "node"
    }  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"hash_size": 64}, {"edge_prefix": "e|"}], ids=str)
def test_state_is_everything(settings: dict[str, Any]) -> None:
    encoder = FreeFeatures(**settings)
    X = [[["a", "e|é", ""], {"k": "v", "n": 2.5}], [["日"]]]
    encoder.encode(X, grow=True)
    again = FreeFeatures.from_state(*encoder.state())
    assert again.n_attributes == encoder.n_attributes
    for left, right in zip(encoder.encode(X, grow=False), again.encode(X, grow=False)):
        assert (left is None and right is None) or np.array_equal(left, right)
    assert again.attribute_template.tolist() == encoder.attribute_template.tolist()


def test_names_of_ids_out_of_range_are_refused() -> None:
    encoder = FreeFeatures()
    encoder.encode([[["a"]]], grow=True)
    for bad in (-1, 1):
        with pytest.raises((FieldcraftError, ValueError, IndexError), match="attribute id"):
            encoder.attribute_text([bad])
