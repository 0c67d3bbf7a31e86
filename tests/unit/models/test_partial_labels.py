"""Labels that are unknown or sets: in fit, in files, and what they support."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import build_design, make_encoder
from fieldcraft.labels import encode_partial, label_names

X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"]], [["a"], ["dog"]]]
Y: list[list[Any]] = [["D", {"N", "V"}, "V"], ["D", None], [["D", "N"], "N"]]
TOLD: dict[str, Any] = {"objective": "marginal_likelihood", "prior": fc.Gaussian(variance=1.0)}


def rows(crf: fc.ChainCRF) -> set[tuple[str, str, str]]:
    """(attribute, previous, label) of every feature, in words."""
    index, names = crf.features_, [*crf.classes_.tolist(), ""]
    texts = [*crf.encoder_.attribute_text(range(index.n_attributes)), ""]
    return {(texts[a], names[x], names[y]) for a, x, y in zip(index.attribute, index.previous, index.label)}


def test_a_feature_is_supported_where_its_labels_are_candidates() -> None:
    crf = fc.ChainCRF(**TOLD).fit(X, Y)
    assert crf.classes_.tolist() == ["D", "N", "V"]
    assert rows(crf) == {
        ("the", "", "D"),
        *(("dog", "", label) for label in "NV"),
        ("barks", "", "V"),
        *(("a", "", label) for label in "DN"),  # and nothing for cat, of which nothing is known
        *(("", *pair) for pair in ("DN", "DV", "NV", "VV", "NN")),
    }


def test_counts_are_positions_and_families_count_unknown_ones_too() -> None:
    encoder = make_encoder(None)
    encoded = encoder.encode([[["a"], ["a"], ["a"]]], grow=True)
    gold = encode_partial([[{"P", "Q"}, None, "P"]], ["P", "Q"], encoded.offsets)
    index = build_design(encoder, encoded, gold, 2).index
    assert index.label.tolist() == [0, 1]
    assert index.count.tolist() == [2, 1]
    assert index.family.tolist() == [3, 3]


@pytest.mark.parametrize("features", ["all", "supported", "all_states", "all_transitions"])
def test_with_nothing_missing_all_is_as_with_the_likelihood(features: str) -> None:
    whole = [["D", "N", "V"], ["D", "N"], ["D", "N"]]
    tight = fc.LBFGS(tolerance=1e-9, objective_tolerance=0)
    partial = fc.ChainCRF(**TOLD, features=features, optimiser=tight).fit(X, whole)
    plain = fc.ChainCRF(prior=TOLD["prior"], features=features, optimiser=tight).fit(X, whole)
    assert partial.features_.digest == plain.features_.digest
    np.testing.assert_allclose(partial.weights_, plain.weights_, rtol=1e-7, atol=1e-8)
    assert partial.objective_value_ == pytest.approx(plain.objective_value_, rel=1e-12)


def test_all_features_cover_unknown_tokens() -> None:
    crf = fc.ChainCRF(**TOLD, features="all").fit(X, Y)
    assert {("cat", "", label) for label in "DNV"} <= rows(crf)


@pytest.mark.parametrize("given", [{"N", "V"}, frozenset({"N", "V"}), ["V", "N"]])
def test_kinds_of_sets_are_the_same(given: Any) -> None:
    crf = fc.ChainCRF(**TOLD).fit(X, [["D", given, "V"], *Y[1:]])
    assert np.array_equal(crf.weights_, fc.ChainCRF(**TOLD).fit(X, Y).weights_)


def test_a_set_of_all_labels_has_the_loss_of_an_unknown_one() -> None:
    told = {**TOLD, "features": "all", "labels": ["D", "N", "V"]}
    everything = [[{"D", "N", "V"} if label is None else label for label in labels] for labels in Y]
    one, other = (fc.ChainCRF(**told).fit(X, y) for y in (Y, everything))
    assert one.objective_value_ == other.objective_value_
    assert np.array_equal(one.weights_, other.weights_)


def test_labels_only_in_sets_are_labels() -> None:
    assert label_names([["A", None, {"B", "C"}], [["D"], frozenset({"A"})]]) == ["A", "B", "C", "D"]
    crf = fc.ChainCRF(**TOLD).fit([[["a"], ["b"]]], [["P", {"Q", "R"}]])
    assert crf.classes_.tolist() == ["P", "Q", "R"]


def test_declared_labels_keep_their_order_and_may_be_unseen() -> None:
    crf = fc.ChainCRF(labels=["V", "N", "D", "X"]).fit(X, [["D", "N", "V"], ["D", "N"], ["D", "N"]])
    assert crf.classes_.tolist() == ["V", "N", "D", "X"]
    assert crf.predict(X).tolist() == [["D", "N", "V"], ["D", "N"], ["D", "N"]]
    assert crf.predict_proba(X)[0].shape == (3, 4)


REFUSED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "another objective": ({}, Y, r"token 1: label .* is not a string; unknown .* need objective='marginal_"),
    "an empty set": (
        TOLD,
        [["D", set(), "V"], *Y[1:]],
        "token 1: label set.. is an empty set of candidates; use",
    ),
    "an empty list": (
        TOLD,
        [["D", [], "V"], *Y[1:]],
        r"token 1: label \[\] is an empty set of candidates; use",
    ),
    "a number in a set": (TOLD, [["D", {1}, "V"], *Y[1:]], "has a int; candidates are strings: use str"),
    "a dict": (TOLD, [["D", {"N": 1}, "V"], *Y[1:]], "is a dict; labels are strings: use str"),
    "undeclared candidate": (
        {**TOLD, "labels": ["D", "N"]},
        Y,
        r"sequence 0, token 1: label .* is not among those that labels= declares; add it",
    ),
    "undeclared label": (
        {"labels": ["D"]},
        [["D", "N", "V"], ["D", "N"], ["D", "N"]],
        "token 1: label 'N' is not",
    ),
    "labels twice": ({"labels": ["D", "D"]}, Y, "give a list of different label names"),
    "no labels": ({"labels": []}, Y, "give a list of different label names"),
    "too few labels": (TOLD, [["D", None], *Y[1:]], "sequence 0: 2 labels for 3 tokens"),
    "label weights": (
        {**TOLD, "label_weights": {"D": 2}},
        Y,
        "no meaning for the objective marginal_likelihood",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    settings, y, message = REFUSED[name]
    if name in ("labels twice", "no labels"):
        y = [["D", "D", "D"], ["D", "D"], ["D", "D"]]
    crf = fc.ChainCRF(**settings)
    with pytest.raises(fc.FieldcraftError, match=message):
        crf.fit(X, y)
    assert not hasattr(crf, "weights_") or not vars(crf).get("_parameters")


TEXT = "the D\ndog N|V\nbarks V\n\nthe D\ncat _\n"


def read(text: str, **options: Any) -> fc.Corpus:
    return fc.read(io.StringIO(text), columns="word pos", label="pos", partial=True, **options)


def test_files() -> None:
    corpus = read(TEXT)
    assert corpus.labels == [["D", frozenset({"N", "V"}), "V"], ["D", None]]
    other = read(TEXT.replace("|", "/").replace("_", "?"), unknown="?", between="/")
    assert other.labels == corpus.labels
    out = io.StringIO()
    fc.write(corpus, out)
    assert out.getvalue().strip() == TEXT.strip()
    crf = fc.ChainCRF("word", **TOLD).fit(corpus)
    assert crf.predict(corpus)[1][0] == "D"


def test_files_without_partial_are_plain() -> None:
    corpus = fc.read(io.StringIO(TEXT), columns="word pos", label="pos")
    assert corpus.labels[0][1] == "N|V"
    assert corpus.labels[1][1] == "_"


def test_tables() -> None:
    table = {"word": [["the", "dog"]], "pos": [["D", "N|V"]]}
    corpus = fc.read(table, columns="word", label="pos", partial=True)
    assert corpus.labels == [["D", frozenset({"N", "V"})]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("the D|\n", {}, r"sequence 0, token 0: label 'D\|' has an empty candidate; write A\|B, or _"),
        (TEXT, {"scheme": "iob2"}, "scheme= with partial="),
        (TEXT, {"unknown": ""}, "give two different, non-empty texts"),
        (TEXT, {"unknown": "|"}, "give two different, non-empty texts"),
    ],
)
def test_files_that_are_refused(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(fc.FieldcraftError, match=message):
        read(text, **options)


def test_held_out_labels_must_be_whole() -> None:
    with pytest.raises(fc.FieldcraftError, match="label None is not a string"):
        fc.ChainCRF(**TOLD).fit(X, Y, X_dev=X, y_dev=[*Y[1:], ["D", None, "V"]])
