"""The template language: what it says, the round trip, and what it refuses."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.errors import TemplateError
from fieldcraft.features import gazetteers, templates, terms
from fieldcraft.features.named import NAMED
from fieldcraft.features.predicates import ORTHOGRAPHIC, PREDICATES
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import (
    bias,
    col,
    collins,
    edge,
    first,
    gazetteer,
    last,
    length,
    lower,
    matches,
    prefix,
    shape,
    suffix,
)

names = st.sampled_from(["word", "pos", "first", "in", "lower", "a b", 'q"\\', "1st", "été"])
regexes = st.sampled_from(["^[A-Z]", "a/b", r"\/", r"\\", r"\\/", r"\d+", "#", '"', " "])
plain = st.builds(col, names, st.integers(-4, 4))
derived = st.one_of(
    st.builds(lower, plain),
    st.builds(prefix, st.builds(lower, plain), st.integers(1, 9)),
    st.builds(suffix, plain, st.integers(1, 9)),
    st.builds(matches, plain, regexes),
    st.builds(terms.apply, st.sampled_from(ORTHOGRAPHIC), plain),
    st.builds(lambda c, n, p: gazetteer(n, c, positions=p), plain, names, st.booleans()),
    st.builds(lambda t, by: t.shift(by), st.sampled_from([first(), last()]), st.integers(-2, 2)),
    st.just(bias()),
)
single = st.one_of(plain, derived)
conjunctions = st.lists(single, min_size=1, max_size=3).map(
    lambda parts: parts[0] if len(parts) == 1 else parts[0] & parts[1] & (parts + parts)[2]
)
some_templates = st.lists(st.one_of(conjunctions, conjunctions.map(edge)), max_size=5)


@given(some_templates, st.booleans(), st.booleans())
def test_text_round_trip(objects, edge_bias, declared):
    """str() of a set parses back to it, term by term."""
    one = Templates(objects, edge_bias=edge_bias)
    if declared and one.named_columns:
        one = Templates(objects, edge_bias=edge_bias, columns=[*one.named_columns, "more"])
    two = Templates.parse(str(one))
    assert two == one
    assert list(two) == objects
    assert (two.edge_bias, two.columns, hash(two)) == (edge_bias, one.columns, hash(one))


EXAMPLES = [
    ("word[-1]", [col("word", -1)]),
    ("word & pos[1]", [col("word") & col("pos", 1)]),
    ("word[0]&pos[+1]  # both", [col("word") & col("pos", 1)]),
    ("node: word", [col("word")]),
    ("edge: word[-1..0]", [edge(col("word", -1)), edge(col("word"))]),
    ("suffix(lower(word), 1..2)", [suffix(lower(col("word")), n) for n in (1, 2)]),
    ("shape(word[1])", [shape(col("word", 1))]),
    ("collins(word[-1]) & collins(word)", [collins(col("word", -1)) & collins(col("word"))]),
    ("length(word)", [length(col("word"))]),
    (r"matches(word, /^[A-Z]\/#/)", [matches(col("word"), "^[A-Z]/#")]),
    ("in(cities, word[1]) & word[1]", [gazetteer("cities", col("word", 1)) & col("word", 1)]),
    ('part("big cities", word)', [gazetteer("big cities", col("word"), positions=True)]),
    ("first\nlast[1]\nbias", [first(), last().shift(1), bias()]),
    ('"first"[1]', [col("first", 1)]),
    ("in", [col("in")]),
    ("", []),
    ("  # nothing", []),
    (
        "word[-1..0] & pos[0..1]",
        [col("word", w) & col("pos", p) for w in (-1, 0) for p in (0, 1)],
    ),
]


@pytest.mark.parametrize(("text", "objects"), EXAMPLES)
def test_examples(text, objects):
    assert list(Templates.parse(text)) == objects


def test_shift_moves_everything_but_bias():
    template = (lower(col("word", -1)) & first() & bias()).shift(2)
    assert str(template) == "lower(word[1]) & first[2] & bias"
    assert template.window == (0, 2)


def test_a_set():
    parsed = Templates.parse("columns word pos\nedge\npos[-2..1] & word\nin(cities, word)\nedge: word")
    assert parsed.edge_bias
    assert parsed.columns == ["word", "pos"]
    assert parsed.named_columns == ["pos", "word"]
    assert parsed.gazetteers == ["cities"]
    assert parsed.names[0] == "pos[-2] & word"
    assert [t.window for t in parsed] == [(-2, 0), (-1, 0), (0, 0), (0, 1), (0, 0), (0, 0)]
    assert [t.part for t in parsed] == ["node"] * 5 + ["edge"]
    assert len(parsed) == 6
    assert repr(parsed) == "<Templates: 6 templates over word, pos>"
    assert not parsed.positional


def test_sum_of_sets():
    both = Templates.parse("columns word\nword\nedge") + Templates.parse("word\npos")
    assert str(both) == "columns word pos\nword\npos\nedge"
    with pytest.raises(TemplateError, match="cannot join"):
        _ = both + Templates.parse("U:%x[0,0]", format="crfpp")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[", "templates:1, character 6: a number expected, the end found in 'word['"),
        ("\nword[1", "templates:2, character 7: ']' expected, the end found"),
        ("word[a]", "a number expected, 'a' found"),
        ("word[2..1]", "2..1 is empty; write the lower number first"),
        ("word pos", "'&' or the end of the line expected, 'pos' found"),
        ("word &", "a column, a function, first, last or bias expected, the end found"),
        ("word $ 3", "character 6: cannot read '$ 3'"),
        ("edge word", "':' (or nothing, for label pairs alone) expected, 'word' found"),
        ("lowest(word)", "no word function is called 'lowest'; there are lower, prefix"),
        ("prefix(word)", "prefix takes a column and a length of 1 or more, not None"),
        ("prefix(word, 0)", "a length of 1 or more, not 0"),
        ("prefix(word, /a/)", "a length of 1 or more, not 'a'"),
        ("lower(word, 2)", "lower takes a column only, not also 2"),
        (
            "matches(word, 3)",
            "matches takes a column and a /regular expression/ of one line, not 3",
        ),
        ("matches(word, /(/)", "matches: /(/ is not a regular expression"),
        ("lower(is_title(word))", "a word function takes one column or the value of another"),
        ("lower(first)", "a word function takes one column"),
        ("in(cities, first)", "a gazetteer is matched over a plain column"),
        ("in(cities, lower)(", "'&' or the end of the line expected, '(' found"),
        ("in(cities)", "',' expected, ')' found"),
        ("bias[1]", "bias has no place"),
        ("columns", "'columns' takes one or more different names"),
        ("columns a a", "'columns' takes one or more different names"),
        (
            "columns word\npos",
            "column 'pos' is used but not declared; add it to the line 'columns word'",
        ),
        ("word[0..999999999]", "0..999999999 stands for more than 1000 numbers"),
        ("word[0..99] & word[0..99]", "the ranges stand for 10000 templates, more than 1000"),
        ("word & edge", "'edge' is a word of the language; write a column as"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(TemplateError) as caught:
        Templates.parse(text)
    assert message in str(caught.value)


def test_read_and_resolve(tmp_path):
    path = tmp_path / "my.templates"
    path.write_text("word[-1..1]\nedge\n", encoding="utf-8")
    parsed = Templates.read(path)
    for given_as in (parsed, path, str(path), "word[-1..1]\nedge", ["word[-1..1]", "edge"]):
        assert Templates.resolve(given_as) == parsed
    assert Templates.resolve("entities") == Templates.named("entities")
    assert Templates.resolve("word") == Templates.resolve([col("word")]) == Templates.resolve(["word"])
    assert Templates.resolve([col("word"), "pos"]).names == ["word", "pos"]
    path.write_text("word\n\nword[", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"my\.templates:3, character 6"):
        Templates.read(path)
    path.write_bytes(b"word\xff")
    for wrong in ("no such thing", 3, None, tmp_path / "absent", path):
        with pytest.raises(TemplateError):
            Templates.resolve(wrong)
    with pytest.raises(TemplateError, match="there are simple, tagging, entities"):
        Templates.named("complex")
    with pytest.raises(TemplateError, match="no template format"):
        Templates.parse("word", format="mallet")


PARTS = {f"entities-{part}" for part in "noag"}  # to be added to a set with label pairs


@pytest.mark.parametrize("name", NAMED)
def test_named_sets(name):
    named = Templates.named(name)
    assert named.edge_bias == (name not in PARTS)
    assert len(set(named.names)) == len(named)
    assert Templates.parse(str(named)) == named
    assert ("pos" in named.columns) == (name not in ("simple", "tagging", "tagging-plain", "entities-words"))


def test_entities_hold_all_predicates():
    """Every test of orthography but is_capitalised, which is one of ours."""
    used = {step.name for t in Templates.named("entities") for term in t.terms for step in term.steps}
    assert used == {*ORTHOGRAPHIC, "prefix", "suffix", "length", "collins"} - {"is_capitalised"}
    assert used <= set(PREDICATES)


@pytest.mark.parametrize("module", [templates, terms, gazetteers])
def test_docstring_examples(module):
    assert doctest.testmod(module, extraglobs={"Templates": Templates}).failed == 0
