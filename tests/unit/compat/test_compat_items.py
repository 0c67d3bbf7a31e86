"""Items and labels in forms that the originals take: bytes, other iterables, iterators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from fieldcraft import ChainCRF
from fieldcraft.compat import CRF
from fieldcraft.compat.pycrfsuite import ItemSequence, Tagger, Trainer
from fieldcraft.errors import InputError

X = [[["w=the", "low"], ["w=dog", "low"]], [["w=Ä", "up"], ["w=dog"], ["w=the", "low"]]]
Y = [["D", "N"], ["P", "N", "D"]]
SETTINGS: dict[str, Any] = {"c2": 0.1, "max_iterations": 30}

FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "bytes": lambda item: [name.encode() for name in item],
    "dict of bytes": lambda item: {name.encode(): True for name in item},
    "keys": lambda item: dict.fromkeys(item).keys(),
    "array": np.array,
    "array of bytes": lambda item: np.array([name.encode() for name in item]),
    "array of objects": lambda item: np.array(item, object),
    "generator": lambda item: (name for name in item),
    "iterator": iter,
    "frozenset": frozenset,
    "mapping": lambda item: MappingProxyType(dict.fromkeys(item, 1.0)),
}
SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda items: (item for item in items),
    "array": lambda items: np.array([*items, None], object)[:-1],
}


@pytest.fixture(scope="module")
def expected() -> CRF:
    return CRF(**SETTINGS).fit(X, Y)


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("form", FORMS)
def test_items(expected: CRF, form: str, sequence: str) -> None:
    def given() -> list[Any]:
        return [SEQUENCES[sequence]([FORMS[form](item) for item in items]) for items in X]

    crf = CRF(**SETTINGS).fit(given(), Y)
    if form != "frozenset":  # read in sorted order, so that features are numbered otherwise
        np.testing.assert_array_equal(crf.chain_.weights_, expected.chain_.weights_)
    assert crf.state_features_ == pytest.approx(expected.state_features_, rel=1e-9)
    assert crf.predict(given()).tolist() == Y
    assert crf.predict(iter(given())).tolist() == Y
    assert crf.tagger_ is not None
    assert crf.tagger_.tag() == Y[1]  # the items were read once
    assert [crf.predict_single(items) for items in given()] == Y
    marginals = crf.predict_marginals(given())
    assert [[max(row, key=row.__getitem__) for row in rows] for rows in marginals] == Y
    tagger = Tagger(crf.chain_)
    assert [tagger.tag(items) for items in given()] == Y
    assert [ItemSequence(items).items() for items in given()] == [
        [dict.fromkeys(item, 1.0) for item in items] for items in X
    ]


LABELS: dict[str, Callable[[list[str]], Any]] = {
    "iterator": iter,
    "generator": lambda labels: (label for label in labels),
    "tuple": tuple,
    "array": np.array,
    "bytes": lambda labels: [label.encode() for label in labels],
    "array of bytes": lambda labels: np.array([label.encode() for label in labels]),
}


@pytest.mark.parametrize("form", LABELS)
def test_labels(expected: CRF, form: str) -> None:
    crf = CRF(**SETTINGS).fit(X, [LABELS[form](labels) for labels in Y])
    assert crf.classes_ == ["D", "N", "P"]
    assert all(type(name) is str for name in crf.classes_)
    np.testing.assert_array_equal(crf.chain_.weights_, expected.chain_.weights_)
    crf = CRF(**SETTINGS).fit(iter(X), (LABELS[form](labels) for labels in Y))
    assert crf.state_features_ == expected.state_features_
    tagger = Tagger(crf.chain_)
    tagger.set(X[1])
    assert tagger.probability(LABELS[form](Y[1])) == tagger.probability(Y[1])
    assert tagger.marginal(b"P", 0) == tagger.marginal("P", 0)


def test_iterators_of_different_lengths() -> None:
    for data, labels in ((iter(X), Y[:1]), (X, iter([*Y, ["D"]])), (iter(X[:1]), iter(Y))):
        with pytest.raises(InputError, match=r"ends after \d sequences"):
            CRF().fit(data, labels)


def test_sequences_are_read_one_by_one() -> None:
    """A generator that reuses one list."""
    items: list[Any] = []

    def stream() -> Any:
        for sequence in X:
            items[:] = sequence
            yield items

    np.testing.assert_array_equal(
        CRF(**SETTINGS).fit(stream(), iter(Y)).chain_.weights_, CRF(**SETTINGS).fit(X, Y).chain_.weights_
    )


def test_models_of_matrices_still_predict(tmp_path: Path) -> None:
    matrices = [np.eye(3), np.eye(3)[:2]]
    labels = [["A", "B", "C"], ["A", "B"]]
    ChainCRF().fit(matrices, labels).save(tmp_path / "model.fc")
    assert CRF(model_filename=str(tmp_path / "model.fc")).predict(matrices).tolist() == labels


def test_bytes_in_dicts() -> None:
    items = [
        {b"k": b"v", "солнце": "не светит".encode(), "x": 2.5, "zero": False},
        {"in": {b"deep": [b"a", "b"], "c": {b"d": 0}}, b"set": {b"q"}},
    ]
    plain = [
        {"k": "v", "солнце": "не светит", "x": 2.5, "zero": False},
        {"in": {"deep": ["a", "b"], "c": {"d": 0}}, "set": {"q"}},
    ]
    assert ItemSequence(items).items() == ItemSequence(plain).items()
    assert "солнце:не светит" in ItemSequence(items).items()[0]
    mine, expected = (CRF(c2=0.1).fit([data], [["A", "B"]]) for data in (items, plain))
    np.testing.assert_array_equal(mine.chain_.weights_, expected.chain_.weights_)
    assert mine.attributes_ == expected.attributes_


def test_items_of_the_original() -> None:
    theirs = pytest.importorskip("pycrfsuite")
    for items in (
        [[b"a", "b"], {b"k": b"v", "x": 1}, {"n": {b"d": 1.5}}, {"l": [b"x", "y"]}],
        [np.array(["a", "b"])],
        [{"a": 1, "b": 0}.keys()],
        [{"a": True}, []],
    ):
        assert ItemSequence(items).items() == theirs.ItemSequence(items).items()


SELF: dict[str, Any] = {}
SELF["self"] = SELF


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([b"\xff"], r"b'\\xff' is not UTF-8; decode it"),
        ({"k": b"\xff\xfe"}, "is not UTF-8"),
        ([{"foo": "bar"}], "got dict|is a dict"),
        (5, "an item must be|is no item"),
        (np.array(5), "an item must be|is no item"),
        ([1, 2], "got int|is a int"),
        ({"k": None}, "of type NoneType|a NoneType is no item"),
        ({1: "x"}, "got int|is a int"),
        (SELF, "nested more than 50 deep|is no item"),
    ],
)
def test_refused_items(item: Any, message: str) -> None:
    trainer = Trainer(verbose=False)
    tagger = Tagger(CRF(max_iterations=2).fit(X, Y).chain_)
    for ask in (lambda: trainer.append([["a"], item], ["A", "B"]), lambda: tagger.tag([["a"], item])):
        with pytest.raises(InputError, match=message):
            ask()
    with pytest.raises(InputError, match=message):
        ItemSequence([["a"], item])


@pytest.mark.parametrize("labels", ["DN", b"DN", {"D": 1, "N": 2}, {"D"}, 5, None, ["D", 5], ["D", b"\xff"]])
def test_refused_labels(labels: Any) -> None:
    with pytest.raises(InputError):
        Trainer(verbose=False).append(X[0], labels)


def test_the_chain_itself_is_as_strict_as_before() -> None:
    with pytest.raises(InputError, match="got bytes"):
        ChainCRF().fit([[[b"w=the"]]], [["D"]])
