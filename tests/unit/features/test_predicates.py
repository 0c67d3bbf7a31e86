"""Word functions: what each means, and that the native twins mean the same."""

from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft import _core
from fieldcraft.features import extraction
from fieldcraft.features.predicates import ORTHOGRAPHIC, PREDICATES
from fieldcraft.features.templates import Templates

YES_AND_NO = {
    "contains_digit": ("a1 1 4th", "a - É"),
    "contains_upper": ("A aB McX É", "a 1 é ."),
    "contains_hyphen": ("a-b - --", "ab _ a.b"),
    "contains_period": (". U.S. 1.5", "a , ..."[:3]),
    "contains_punctuation": ("a, $5 x-y ' « (", "ab 12 É"),
    "is_digits": ("1 1234", "1.5 a1 -1"),
    "is_number": (
        "1 12 1,234 1,234,567.89 -3 +4.5 .5 1234.5",
        "1. , 1,23 1,2345 12345,678 a1 - . +",
    ),
    "is_alphanumeric": ("a1 4th B52", "ab 12 a-1 1.5"),
    "is_roman": ("I XIV MCM", "i XIVa A 1"),
    "is_upper": ("A USA U.S. A1 É", "Ab a 1 ."),
    "is_lower": ("a the it's a1 é", "Ab A 1 ."),
    "is_mixed": ("McDonald iPod Hello", "USA the 1 A"),
    "is_title": ("Hello A Mr. O'Neil Jean-Paul", "hello USA McX 1 O'neilX"),
    "is_capitalised": ("Hello A USA É", "hello 1A .A"),
    "is_initial": ("A. É.", "a. AB. A .A"),
    "is_acronym": ("ABC U.S. A.B.C. AB", "A A. Ab. a.b. A.B A1 U.S.a"),
}


def test_every_test_has_examples():
    assert set(YES_AND_NO) == set(ORTHOGRAPHIC)


@pytest.mark.parametrize("name", YES_AND_NO)
def test_orthographic_predicates(name):
    """Yes and no for every row of the table, in both implementations."""
    for words, expected in zip(YES_AND_NO[name], ("", None)):
        for word in words.split():
            assert PREDICATES[name].call(word, None) == expected, word
            if word.isascii():
                assert _core.word_value(name, 0, word) == expected, word
    assert PREDICATES[name].call("", None) is None


@pytest.mark.parametrize(
    ("name", "argument", "word", "expected"),
    [
        ("collins", None, "Hello", "Aa"),
        ("collins", None, "A.B.C.", "A.A.A."),
        ("collins", None, "1,234.567", "0,0.0"),
        ("collins", None, "...", "."),
        ("shape", None, "Hello-1234", "Xxx-dd"),
        ("shape", None, "UK", "XX"),
        ("shape", None, "....", ".."),
        ("lower", None, "İÀ", "i̇à"),
        ("prefix", 3, "ab", "ab"),
        ("prefix", 3, "été1", "été"),
        ("suffix", 3, "ab", "ab"),
        ("suffix", 2, "caté", "té"),
        ("length", None, "été", "3"),
        ("extract", "[0-9]+", "a12b3", "12"),
        ("extract", "[0-9]+", "ab", None),
        ("matches", "^a", "ab", ""),
        ("matches", "^a", "ba", None),
    ],
)
def test_values(name, argument, word, expected):
    assert PREDICATES[name].call(word, argument) == expected


NATIVE = [name for name, p in PREDICATES.items() if p.argument != "regex" and name != "lower_ascii"]
LOOKALIKES = st.text("aAzZ019.,-+'IVX_ \t\n~@[`{/:", max_size=8)
ASCII = st.text(st.characters(max_codepoint=127), max_size=12)


@given(st.one_of(LOOKALIKES, ASCII), st.integers(1, 6))
def test_native_equals_python(word, n):
    """On ASCII both implementations answer alike."""
    for name in NATIVE:
        argument = n if PREDICATES[name].argument == "length" else None
        expected = PREDICATES[name].call(word, argument)
        assert _core.word_value(name, argument or 0, word) == expected, name


@given(st.lists(st.text(max_size=6), max_size=6))
def test_any_text_goes_through(words):
    """Non-ASCII words take the Python way inside the extraction and give Python's values."""
    if any(re.search("[\ud800-\udfff]", w) for w in words):
        return
    features = extraction.TemplateFeatures(Templates.parse("suffix(word, 2)\nshape(word)"))
    encoded = features.encode([words], grow=True)
    expected = [t for w in words for t in (f"suffix(word, 2)={w[-2:]}", f"shape(word)={_shape(w)}")]
    assert features.attribute_text(encoded.attributes) == expected


def _shape(word):
    return PREDICATES["shape"].call(word, None)


def test_docstring_examples_of_extraction():
    assert doctest.testmod(extraction).failed == 0
