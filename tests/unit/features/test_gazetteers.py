"""Gazetteers against naive matching, alone and inside templates."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.errors import FieldcraftError, InputError, ModelFileError, TemplateError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.features.templates import Templates
from oracles import templates as oracle

letters = st.sampled_from(["a", "b", "c", "A", "é", "É"])
entries = st.lists(st.lists(letters, min_size=1, max_size=4), max_size=8)
texts = st.lists(letters, max_size=12)


def tags_of(gazetteer, words):
    """What part(g, word) says at each token."""
    features = TemplateFeatures(Templates.parse("part(g, word)"), gazetteers=[gazetteer])
    encoded = features.encode([words], grow=True)
    shown = iter(features.attribute_text(encoded.attributes))
    return [next(shown)[-1] if n else None for n in np.diff(encoded.token_ptr)]


@given(entries, texts)
def test_longest_matches(entries, words):
    gazetteer = Gazetteer("g", [" ".join(e) for e in entries])
    spans = oracle.longest_matches(words, entries)
    assert gazetteer.find(words) == spans
    assert len(gazetteer) == len({tuple(e) for e in entries})
    expected = [None] * len(words)
    for start, end in spans:
        tags = "U" if end - start == 1 else "B" + "I" * (end - start - 2) + "L"
        expected[start:end] = tags
    assert tags_of(gazetteer, words) == expected


@given(entries, texts)
def test_all_matches_without_case(entries, words):
    gazetteer = Gazetteer("g", (" ".join(e) for e in entries), case="insensitive", match="all")
    folded = [[w.lower() for w in e] for e in entries]
    assert tags_of(gazetteer, words) == oracle.all_tags([w.lower() for w in words], folded)


CITIES = Gazetteer("cities", ["New York", "York", "  Los   Angeles ", "", "Rome"])


def test_in_templates():
    """Plain, with position, lexicalised, shifted; frozen with words never seen."""
    text = "in(cities, word)\npart(cities, word)\nin(cities, word) & word\nin(cities, word[1])"
    features = TemplateFeatures(Templates.parse(text), gazetteers={"cities": CITIES})
    encoded = features.encode([["in", "New", "York"]], grow=True)
    assert features.attribute_text(encoded.attributes) == [
        "in(cities, word[1])",
        "in(cities, word)",
        "part(cities, word)=B",
        "in(cities, word) & word=New",
        "in(cities, word[1])",
        "in(cities, word)",
        "part(cities, word)=L",
        "in(cities, word) & word=York",
    ]
    frozen = features.encode([["Los", "Angeles"]], grow=False)
    assert features.attribute_text(frozen.attributes) == [
        "in(cities, word)",
        "part(cities, word)=B",
        "in(cities, word[1])",
        "in(cities, word)",
        "part(cities, word)=L",
    ]


def test_stored_with_the_features():
    insensitive = Gazetteer("names", ["ÉVA"], case="insensitive", match="all")
    templates = Templates.parse("part(cities, word)\nin(names, word)\nword")
    features = TemplateFeatures(templates, gazetteers=[CITIES, insensitive])
    X = [["Éva", "in", "New", "York", "éva"]]
    features.encode(X, grow=True)
    settings, arrays = features.state()
    again = TemplateFeatures.from_state(settings, arrays)
    assert np.array_equal(again.encode(X, grow=False).attributes, features.encode(X, grow=False).attributes)
    assert again.gazetteers["names"].find(["x", "éVA"]) == [(1, 2)]
    for name in ("word_starts", "words", "starts"):
        wrong = arrays[f"gazetteer.0.{name}"].copy()
        wrong[1] = 99
        with pytest.raises(ModelFileError):
            TemplateFeatures.from_state(settings, arrays | {f"gazetteer.0.{name}": wrong})


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"cities.txt{suffix}"
    data = "New York\n\nZürich\n".encode()
    path.write_bytes(gzip.compress(data) if suffix else data)
    assert Gazetteer("cities", path).find(["Zürich", "New", "York"]) == [(0, 1), (1, 3)]
    assert repr(Gazetteer("cities", str(path))) == "<Gazetteer 'cities': 2 entries>"


def test_own_tokens():
    gazetteer = Gazetteer("firms", ["Acme, Inc."], tokenise=lambda s: s.replace(",", " ,").split())
    assert gazetteer.find(["Acme", ",", "Inc."]) == [(0, 3)]


def test_refusals(tmp_path):
    with pytest.raises(FieldcraftError, match="case must be one of sensitive, insensitive, not 'upper'"):
        len(Gazetteer("g", ["a"], case="upper"))
    with pytest.raises(FieldcraftError, match="match must be one of longest, all, not 'first'"):
        len(Gazetteer("g", ["a"], match="first"))
    with pytest.raises(FieldcraftError, match="gazetteer 'g': there is no file"):
        len(Gazetteer("g", tmp_path / "absent.txt"))
    with pytest.raises(InputError, match="gazetteer 'g', entry 1: an entry must be text, not int"):
        len(Gazetteer("g", ["a", 3]))
    with pytest.raises(TemplateError, match="no gazetteer is called 'g'; pass it in gazetteers="):
        TemplateFeatures(Templates.parse("in(g, word)"), gazetteers=[CITIES]).encode([["a"]], grow=True)


def test_many_entries():
    """Half a million synthetic names; matching stays exact."""
    gazetteer = Gazetteer("many", (f"w{i % 997} v{i} z{i % 7}" for i in range(500_000)))
    assert len(gazetteer) == 500_000
    words = ["w5", "v5", "z5", "w5", "v6", "z6", "w6", "v6", "z6"]
    assert gazetteer.find(words) == [(0, 3), (6, 9)]
