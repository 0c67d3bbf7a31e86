"""Extraction against naive extraction with string keys, on random templates and sequences."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.templates import Templates
from oracles import templates as oracle

WORDS = ["the", "The", "USA", "U.S.", "x-1", "1,234", "É", "été", "XIV", "", "a b", "ﬁ", "İx", "A."]
words = st.sampled_from(WORDS)
functions = st.one_of(
    st.just([]),
    st.sampled_from([[("lower", None)], [("shape", None)], [("collins", None)], [("length", None)]]),
    st.builds(lambda n: [("prefix", n)], st.integers(1, 4)),
    st.builds(lambda n: [("lower", None), ("suffix", n)], st.integers(1, 4)),
    st.sampled_from([[(name, None)] for name in oracle.TESTS]),
)
columns = st.builds(
    lambda c, f, o: ("column", c, f, o),
    st.sampled_from(["word", "pos"]),
    functions,
    st.integers(-3, 3),
)
places = st.builds(
    lambda kind, o: (kind, None, [], o), st.sampled_from(["first", "last"]), st.integers(-2, 2)
)
terms = st.one_of(columns, columns, columns, places, st.just(("bias", None, [], 0)))
templates = st.lists(
    st.tuples(st.sampled_from(["node", "edge"]), st.lists(terms, min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)
sequence = st.integers(0, 5).flatmap(
    lambda n: st.fixed_dictionaries({c: st.lists(words, min_size=n, max_size=n) for c in ("word", "pos")})
)
corpora = st.lists(sequence, max_size=4)


def spelled(term):
    kind, column, steps, offset = term
    text = "bias" if kind == "bias" else f"{column or kind}[{offset}]"
    for name, argument in steps:
        text = f"{name}({text})" if argument is None else f"{name}({text}, {argument})"
    return text


def text_of(templates):
    lines = [("edge: " if p == "edge" else "") + " & ".join(map(spelled, ts)) for p, ts in templates]
    return "columns word pos\nnode: word\nnode: pos\n" + "\n".join(lines)


def rows_of(encoded):
    return [a.tolist() for a in np.split(encoded.attributes, encoded.token_ptr[1:-1])][
        : len(encoded.token_ptr) - 1
    ]


def both(templates):
    plain = [("node", [("column", c, [], 0)]) for c in ("word", "pos")]
    return TemplateFeatures(Templates.parse(text_of(templates))), plain + templates


@given(templates, corpora, corpora, corpora)
def test_equals_naive_extraction(templates, first, second, unseen):
    """Ids, order and what is left out agree, also when the table grows twice."""
    features, spec = both(templates)
    table = {}
    for corpus in (first, second):
        grown = features.encode(corpus, grow=True)
        assert rows_of(grown) == oracle.encode(corpus, spec, table, grow=True)
        assert np.diff(grown.offsets).tolist() == [len(s["word"]) for s in corpus]
    for corpus in (first, second, unseen):
        frozen = features.encode(corpus, grow=False)
        assert rows_of(frozen) == oracle.encode(corpus, spec, table, grow=False)
    assert features.n_attributes == len(table)
    assert features.attribute_template.tolist() == [k for k, _ in table]
    assert len(set(features.attribute_text(range(len(table))))) == len(set(named(table, features)))


def named(table, features):
    """Keys up to equal spelling: a template may occur twice, and bias & x spells like itself."""
    return [(features.templates[k].name, values) for k, values in table]


@given(templates, corpora, corpora)
def test_state_round_trip(templates, corpus, unseen):
    features, _ = both(templates)
    features.encode(corpus, grow=True)
    settings, arrays = features.state()
    again = TemplateFeatures.from_state(settings, arrays)
    ids = np.arange(features.n_attributes)
    assert again.templates == features.templates
    assert again.attribute_text(ids) == features.attribute_text(ids)
    for x in (corpus, unseen):
        assert rows_of(again.encode(x, grow=False)) == rows_of(features.encode(x, grow=False))
    grown = rows_of(again.encode(unseen, grow=True))
    assert grown == rows_of(features.encode(unseen, grow=True))


CORPUS = [{"word": list("abcab"), "pos": list("xyxyx")}, {"word": ["q"], "pos": ["r"]}]
TEXT = "columns word pos\nword[-1..1]\nword & pos[1]\nedge: word\nmatches(word, /[ab]/)"


def grown(text=TEXT, **options):
    features = TemplateFeatures(Templates.parse(text), **options)
    features.encode(CORPUS, grow=True)
    return features


def test_texts():
    features = grown("word[-1..0]\nword[1] & lower(word[-2])\nedge: is_lower(word)\nfirst")
    encoded = features.encode([{"word": ["a", "b"]}], grow=False)
    assert features.attribute_text(encoded.attributes) == [
        "word[-1]=<s-1>",
        "word=a",
        "word[1]=b & lower(word[-2])=<s-2>",
        "first",
        "word[-1]=a",
        "word=b",
        "edge: is_lower(word)",
    ]


def test_frozen_encoding_changes_nothing_and_threads_agree():
    features = grown()
    before = {k: v.copy() for k, v in features.state()[1].items()}
    many = [{"word": ["a", "new", "b"] * 3, "pos": ["x"] * 9}, CORPUS[0]] * 200
    expected = features.encode(many, grow=False)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda n: features.encode(many, grow=False, n_threads=n), [1, 2, 3] * 4):
            assert all(np.array_equal(a, b) for a, b in zip(got[:3], expected[:3]))
    after = features.state()[1]
    assert all(np.array_equal(before[k], after[k]) for k in before)


@pytest.mark.parametrize(
    "tokens",
    [
        [("a", "x"), ("b", "y")],
        [["a", "x", "more"], ["b", "y", "more"]],
        [{"word": "a", "pos": "x"}, {"word": "b", "pos": "y"}],
        {"pos": ("x", "y"), "word": np.array(["a", "b"])},
    ],
)
def test_kinds_of_sequences(tokens):
    features = grown()
    expected = features.encode([{"word": ["a", "b"], "pos": ["x", "y"]}], grow=False)
    got = features.encode([tokens], grow=False)
    assert np.array_equal(got.attributes, expected.attributes)


def test_corpus_and_plain_strings():
    from fieldcraft.corpus import Corpus, Sequence

    features = TemplateFeatures(Templates.parse("word[-1..0]"))
    one = features.encode([["a", "b"], []], grow=True)
    two = features.encode(Corpus([Sequence({"word": ["a", "b"]}), Sequence({"word": []})]), grow=False)
    assert one.attributes.tolist() == two.attributes.tolist() == [0, 1, 2, 3]
    assert one.offsets.tolist() == two.offsets.tolist() == [0, 2, 2]
    assert features.encode([], grow=False).offsets.tolist() == [0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X must be a corpus or a list of sequences, not str"),
        ({"word": ["a"], "pos": ["b"]}, "put a single sequence in a list"),
        (3, "not int"),
        ([3], "sequence 0: a sequence is a dict of columns or a list of tokens, not int"),
        (
            [[("a", "x"), ("b",)]],
            "sequence 0, token 1: 1 values where a tuple of the columns word, pos",
        ),
        ([[("a", "x"), 3]], "sequence 0, token 1: int where a tuple"),
        ([["a"]], "tokens are plain strings, but the templates look at the columns word, pos"),
        ([[3]], "sequence 0, token 0: a token is a string, a tuple or a dict of columns, not int"),
        ([{"word": ["a"]}], "sequence 0: the templates look at column 'pos', which is not there"),
        (
            [[{"word": "a", "pos": "b"}, {"word": "a"}]],
            "sequence 0, token 1: the templates look at",
        ),
        ([{"word": ["a"], "pos": []}], "sequence 0: column 'pos' has 0 tokens where 'word' has 1"),
        (
            [{"word": ["a", None], "pos": ["x", "y"]}],
            "token 1, column 'word': a token must be text, not",
        ),
        (
            [{"word": ["a\ud800"], "pos": ["x"]}],
            "token 0, column 'word': the text contains a lone surrog",
        ),
    ],
)
@pytest.mark.parametrize("grow", [True, False])
def test_bad_input(X, message, grow):
    features = grown()
    with pytest.raises(InputError) as caught:
        features.encode(X, grow=grow)
    assert message in str(caught.value)


def test_refused_input_leaves_no_trace():
    features = grown()
    before = features.state()[1]
    with pytest.raises(InputError):
        features.encode([{"word": ["new"], "pos": ["new"]}, {"word": [3], "pos": ["x"]}], grow=True)
    after = features.state()[1]
    assert all(np.array_equal(before[k], after[k]) for k in before)


def test_growth_catches_up_after_an_interruption(monkeypatch):
    """An error inside Python's part of growing leaves a table that the next growing call mends."""
    features = TemplateFeatures(Templates.parse("word\nmatches(word, /new/)\nsuffix(word, 2)"))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(features, "_evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            features.encode([["newer"]], grow=True)
    with pytest.raises(InputError, match="repeat it"):
        features.encode([["newer"]], grow=False)
    encoded = features.encode([["newer"]], grow=True)
    texts = features.attribute_text(encoded.attributes)
    assert texts == ["word=newer", "matches(word, /new/)", "suffix(word, 2)=er"]
    assert rows_of(features.encode([["newer"]], grow=False)) == [[0, 1, 2]]


def test_hashing():
    """Buckets depend on content alone; edge templates have their own; nothing is kept."""
    features = TemplateFeatures(Templates.parse(TEXT), hash_size=1000)
    one = features.encode(CORPUS, grow=True)
    two = TemplateFeatures(Templates.parse(TEXT), hash_size=1000).encode(CORPUS[::-1], grow=False)
    first = one.token_ptr[one.offsets[1]]
    assert np.array_equal(np.roll(one.attributes, -first), two.attributes)
    exact = grown().encode(CORPUS, grow=False)
    assert len(exact.attributes) == len(one.attributes)
    pairs = set(zip(exact.attributes.tolist(), one.attributes.tolist()))
    assert len(pairs) == len(set(exact.attributes.tolist()))
    edges = grown().attribute_template[exact.attributes] == 4
    assert np.array_equal(one.attributes >= 1000, edges)
    assert features.n_attributes == 2000
    assert features.attribute_template[[0, 1999]].tolist() == [0, 4]
    assert features.attribute_text([7]) == ["bucket 7"]
    again = TemplateFeatures.from_state(*features.state())
    assert np.array_equal(again.encode(CORPUS, grow=False).attributes, one.attributes)


def test_hashes_stay_what_they_are():
    """Stored models depend on these numbers."""
    features = TemplateFeatures(Templates.parse("word[1] & word\nedge: word"), hash_size=2**20)
    encoded = features.encode([["the", "été"]], grow=False)
    pair = [("<s+1>" if o > 1 else "été", w) for o, w in enumerate(("the", "été"), 1)]
    expected = [oracle.bucket("word[1] & word", values[::-1], 2**20) for values in pair]
    assert encoded.attributes[:2].tolist() == expected
    assert encoded.attributes[2] == 2**20 + oracle.bucket("edge: word", ["été"], 2**20)
    assert expected == [553004, 620631]


@pytest.mark.parametrize("size", [0, -1, 2**30])
def test_bad_hash_size(size):
    with pytest.raises(InputError, match="hash_size must be a whole number in"):
        TemplateFeatures(Templates.parse("word"), hash_size=size).encode([["a"]], grow=True)


def damaged():
    """Every array with one entry out of range, too short, or gone."""
    _, arrays = grown().state()
    for name, array in arrays.items():
        yield name, {k: v for k, v in arrays.items() if k != name}
        if len(array):
            yield name, arrays | {name: array[:-1]}
        if array.dtype != np.uint8 and not name.endswith("slots"):  # wrong slots are harmless, see below
            for value in (-7, 10**6) if array.dtype.kind == "i" else (2**32 - 7, 10**6):
                wrong = array.copy()
                wrong[len(wrong) // 2] = value
                yield name, arrays | {name: wrong}


def test_damaged_state_is_refused():
    settings, _ = grown().state()
    cases = list(damaged())
    assert len(cases) > 25
    for name, arrays in cases:
        with pytest.raises(ModelFileError):
            pytest.fail(f"{name}: {TemplateFeatures.from_state(settings, arrays)}")


def test_wrong_slots_lose_attributes_at_worst():
    settings, arrays = grown().state()
    for name in ("string_slots", "pair_slots"):
        for i, value in itertools.product(range(len(arrays[name])), (0, 1, 2**31 - 1, 2**32 - 1)):
            wrong = arrays[name].copy()
            wrong[i] = value
            try:
                features = TemplateFeatures.from_state(settings, arrays | {name: wrong})
            except ModelFileError:
                continue
            features.encode(CORPUS, grow=False)


@pytest.mark.parametrize(
    "change",
    [
        {"templates": "word["},
        {"templates": "lower(" * 9999},
        {"templates": "word[1001]"},
        {"format": "x"},
        {"gazetteers": 3},
        {"hash_size": "x"},
        {"hash_size": 0},
    ],
)
def test_damaged_settings_are_refused(change):
    settings, arrays = grown().state()
    with pytest.raises(ModelFileError):
        TemplateFeatures.from_state(settings | change, arrays)


def test_no_column():
    with pytest.raises(InputError, match="look at no column"):
        TemplateFeatures(Templates.parse("bias")).encode([["a"]], grow=True)
