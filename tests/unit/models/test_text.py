"""predict_text: characters of raw strings, the same answers as predict and span_probability on tokens."""

from __future__ import annotations

import pickle
from functools import lru_cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF, FieldcraftError, TextSpan

TEMPLATES = """
    lower(word[-2..2])
    shape(word[-2..2])
    lower(word[-1]) & lower(word)
    prefix(lower(word), 2..4)
    suffix(lower(word), 2..4)
    contains_digit(word) & length(word)
    edge
"""


@lru_cache
def parser() -> ChainCRF:
    """Trained on synthetic addresses."""
    train, _ = fc.datasets.split(fc.datasets.addresses(n=2000), fraction=0.8, seed=0)
    return ChainCRF(TEMPLATES, prior=fc.Gaussian(variance=10), optimiser=LBFGS(max_iterations=60)).fit(train)


ADDRESSES = {
    "Ms Ada Whitfield, 12 Harbour Lane, Flat 3, Leeds LS1 4AP": {
        "recipient": "Ms Ada Whitfield",
        "house_number": "12",
        "street": "Harbour Lane",
        "unit": "Flat 3",
        "city": "Leeds",
        "postcode": "LS1 4AP",
    },
    "12 King's Road\r\nLondon  SW3 5XP\n\nUK\n": {
        "house_number": "12",
        "street": "King's Road",
        "city": "London",
        "postcode": "SW3 5XP",
        "country": "UK",
    },
    "P.O. Box 123,Boston,MA 02101": {
        "po_box": "P.O. Box 123",
        "city": "Boston",
        "region": "MA",
        "postcode": "02101",
    },
    "742 Maple Ave., Apt. 4B, St. Louis, MO 63101, U.S.A.": {
        "house_number": "742",
        "street": "Maple Ave.",
        "unit": "Apt. 4B",
        "city": "St. Louis",
        "region": "MO",
        "postcode": "63101",
        "country": "U.S.A.",
    },
}


def test_fields_of_typical_addresses():
    for text, found in zip(ADDRESSES, parser().predict_text(ADDRESSES), strict=True):
        assert {span.label: span.text for span in found} == ADDRESSES[text]
        for span in found:
            assert isinstance(span, TextSpan)
            assert text[span.start : span.end] == span.text
            assert 0.5 < span.probability <= 1.0


def test_synthetic_addresses_as_strings_score_nearly_as_their_tokens():
    _, test = fc.datasets.split(fc.datasets.addresses(n=2000), fraction=0.8, seed=0)
    found = parser().predict_text(" ".join(sequence.columns["word"]) for sequence in test)
    common = total = 0
    for sequence, spans in zip(test, found, strict=True):
        starts = [0, *accumulate(len(word) + 1 for word in sequence.columns["word"])]
        gold = {(starts[s.start], starts[s.end] - 1, s.label) for s in sequence.spans()}
        common += len(gold & {span[:3] for span in spans})
        total += len(gold) + len(spans)
    on_tokens = fc.metrics.span_scores(test.labels, parser().predict(test)).f
    assert 2 * common / total > on_tokens - 0.03


def test_the_same_as_predict_and_span_probability():
    texts = list(ADDRESSES)
    words = [[token.text for token in fc.tokenize(text)] for text in texts]
    spans = [fc.schemes.spans(labels) for labels in parser().predict(words)]
    probabilities = parser().span_probability(words, spans)
    for i, found in enumerate(parser().predict_text(texts)):
        assert [span.label for span in found] == [span.label for span in spans[i]]
        assert [span.probability for span in found] == probabilities[i]
        tokens = fc.tokenize(texts[i])
        assert [(s.start, s.end) for s in found] == [
            (tokens[s.start].start, tokens[s.end - 1].end) for s in spans[i]
        ]


@settings(max_examples=50)
@given(st.lists(st.text(st.one_of(st.characters(), st.sampled_from("aB 1,.'\n\x00\ud800"))), max_size=4))
def test_any_strings(texts):
    answers = parser().predict_text(texts)
    assert len(answers) == len(texts)
    for text, found in zip(texts, answers, strict=True):
        end = 0
        for span in found:
            assert end <= span.start < span.end
            assert text[span.start : span.end] == span.text
            assert 0.0 <= span.probability <= 1.0
            end = span.end


def test_nothing_in_nothing_out():
    assert parser().predict_text([]) == []
    assert parser().predict_text(["", " \n", "\x00"]) == [[], [], []]


def test_many_strings_and_a_long_one():
    texts = list(ADDRESSES) * 500
    answers = parser().predict_text(texts)
    assert answers[:4] * 500 == answers
    long = "\n".join(texts)
    (found,) = parser().predict_text([long])
    assert all(long[span.start : span.end] == span.text for span in found)
    assert len(found) > 2000


def test_labels_without_a_scheme_give_runs():
    X = [["Ada", "Roe", "ran", "home"], ["Bob", "sat"]]
    y = [["name", "name", "O", "place"], ["name", "O"]]
    crf = ChainCRF("word\nedge").fit(X, y)
    (found,) = crf.predict_text(["Bob Roe  ran, home"])
    assert found[0][:4] == (0, 7, "name", "Bob Roe")
    expected = crf.span_probability([["Bob", "Roe", "ran", ",", "home"]], [[(0, 2, "name")]])[0][0]
    assert found[0].probability == expected
    assert "O" not in {span.label for span in found}


def columns_model(*, templates="word\npos\nedge") -> ChainCRF:
    X = [{"word": ["Ada", "ran"], "pos": ["N", "V"]}, {"word": ["he", "sat"], "pos": ["P", "V"]}]
    return ChainCRF(templates).fit(X, [["B-A", "O"], ["O", "O"]])


def test_other_columns_come_from_to_sequence():
    crf = columns_model()
    with pytest.raises(FieldcraftError, match=r"look at column pos besides the words \(word\).*to_sequence="):
        crf.predict_text(["Ada ran"])
    tagged = crf.predict_text(
        ["Ada ran", ""], to_sequence=lambda words: {"word": words, "pos": ["N" for _ in words]}
    )
    assert tagged[0][0][:4] == (0, 3, "A", "Ada")
    assert tagged[1] == []


def test_the_word_column_is_known_in_any_order_and_by_position():
    with pytest.raises(FieldcraftError, match=r"look at column pos besides the words \(word\)"):
        columns_model(templates="pos\nword\nedge").predict_text(["Ada"])
    X, y = [[("Ada", "N"), ("ran", "V")]], [["B-A", "O"]]
    first = ChainCRF(fc.Templates.parse("U0:%x[0,0]\nB", format="crfpp")).fit(X, y)
    assert first.predict_text(["Ada ran"])[0][0][:3] == (0, 3, "A")
    second = ChainCRF(fc.Templates.parse("U0:%x[0,1]\nB", format="crfpp")).fit(X, y)
    with pytest.raises(FieldcraftError, match=r"look at column 1 besides the words \(0\)"):
        second.predict_text(["Ada ran"])


def test_free_features_need_to_sequence():
    crf = ChainCRF().fit([[["w=Ada"], ["w=ran"]]], [["B-A", "O"]])
    with pytest.raises(FieldcraftError, match="features of your own"):
        crf.predict_text(["Ada ran"])
    found = crf.predict_text(["Ada ran"], to_sequence=lambda words: [[f"w={word}"] for word in words])
    assert found[0][0][:4] == (0, 3, "A", "Ada")


@pytest.mark.parametrize(
    ("strings", "text"),
    [
        ("Ada ran", r"not a str; put a single string in a list: predict_text\(\[text\]\)"),
        (b"Ada", "not a bytes"),
        (None, "not a NoneType"),
        (["Ada", b"ran"], "string 1 is a bytes"),
        ([["Ada", "ran"]], "string 0 is a list"),
        ([float("nan")], "string 0 is a float"),
    ],
)
def test_refused_strings(strings, text):
    with pytest.raises(FieldcraftError, match=text):
        parser().predict_text(strings)


def test_to_sequence_must_keep_every_word():
    with pytest.raises(FieldcraftError, match="string 1: to_sequence returned 1 tokens for 2 words"):
        parser().predict_text(["a", "a b"], to_sequence=lambda words: words[:1])


def test_the_tokenizer_is_a_parameter():
    X, y = [["A.B."], ["x"], ["y"], [","]], [["B-A"], ["O"], ["O"], ["O"]]
    text = "A.B. A.B.,"
    for tokenizer, expected in [
        ("words", [(0, 4), (5, 9)]),
        ("whitespace", [(0, 4)]),
        (fc.Tokenizer(pattern=r"\S+?(?=[,\s])"), [(0, 4), (5, 9)]),
    ]:
        crf = ChainCRF("word\nbias", tokenizer=tokenizer).fit(X, y)
        again = pickle.loads(pickle.dumps(crf))
        assert again.tokenizer == tokenizer
        assert [span[:2] for span in again.predict_text([text])[0]] == expected
    crf.set_params(tokenizer="wrods")
    with pytest.raises(FieldcraftError, match="no tokenizer is called 'wrods'"):
        crf.predict_text([text])


def test_before_training():
    with pytest.raises(FieldcraftError, match="not trained yet"):
        ChainCRF().predict_text(["a"])


def test_arrays_of_strings_are_lists_of_strings():
    assert parser().predict_text(np.array(list(ADDRESSES), object)) == parser().predict_text(ADDRESSES)
