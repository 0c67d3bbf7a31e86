"""Label schemes: exhaustively against spelled-out span sets, and seqeval on ill-formed labels."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import pytest
from seqeval.metrics.sequence_labeling import get_entities

from fieldcraft.corpus import Span, schemes
from fieldcraft.errors import CorpusError
from oracles import schemes as oracle

TYPES = ["X", "Y-Z"]
LENGTHS = range(6)


def labellings(length, letters):
    tags = ["O", *(f"{letter}-{type_}" for letter in letters for type_ in TYPES)]
    return product(tags, repeat=length)


@pytest.mark.parametrize("scheme", oracle.SCHEMES)
@pytest.mark.parametrize("length", LENGTHS)
def test_well_formed_labels_read_and_spell_as_the_oracle(scheme, length):
    for labels, spans in oracle.well_formed(length, TYPES, scheme).items():
        expected = [Span(*span) for span in spans]
        assert schemes.spans(labels, scheme) == expected
        assert schemes.spans(labels) == expected
        assert schemes.labels_from_spans(expected, length, scheme) == list(labels)
        assert schemes.validate(labels, scheme) == []


@pytest.mark.parametrize("scheme", oracle.SCHEMES)
@pytest.mark.parametrize("length", range(5))
def test_every_labelling_is_judged_as_the_oracle_judges(scheme, length):
    good = oracle.well_formed(length, TYPES, scheme)
    for labels in labellings(length, oracle.LETTERS[scheme]):
        bordered = [None, *labels, None]
        pairs = pairwise(bordered)
        allowed = all(schemes.may_follow(left, right, scheme) for left, right in pairs)
        assert (schemes.validate(labels, scheme) == []) == allowed == (labels in good)


@pytest.mark.parametrize("source", oracle.SCHEMES)
@pytest.mark.parametrize("target", oracle.SCHEMES)
def test_conversion_spells_the_same_spans(source, target):
    for labels, spans in oracle.well_formed(4, TYPES, source).items():
        assert schemes.convert(labels, source, target) == oracle.spell(spans, 4, target)


@pytest.mark.parametrize("length", range(5))
def test_ill_formed_labels_read_as_seqeval_reads_them(length):
    for labels in labellings(length, "BIES"):
        expected = [Span(start, last + 1, type_) for type_, start, last in get_entities(list(labels))]
        assert schemes.spans(labels) == expected
        as_bilou = [label.replace("E-", "L-").replace("S-", "U-") for label in labels]
        assert schemes.spans(as_bilou, "bilou") == expected


def test_violations_say_what_was_expected():
    found = schemes.validate([["B-X", "I-X"], ["O", "I-X", "I-Y-Z"]], "iob2")
    assert found == [
        schemes.Violation(1, 1, "I-X", "B-X"),
        schemes.Violation(1, 2, "I-Y-Z", "B-Y-Z"),
    ]
    assert schemes.validate(["B-X", "O"], "iobes") == [schemes.Violation(0, 0, "B-X", "S-X")]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["I-X", "I-X", "O"], "io"),
        (["I-X", "B-X", "O"], "iob1"),
        (["B-X", "I-X", "O"], "iob2"),
        (["B-X", "O", "O"], "iob2"),
        (["B-X", "E-X", "O"], "iobes"),
        (["S-X", "O"], "iobes"),
        (["B-X", "L-X", "O"], "bilou"),
        (["U-X"], "bilou"),
        (["B", "I", "O"], "iob2"),
        (["O", "O"], None),
        ([], None),
        (["NN", "VB"], None),
        (["B-X", "NN"], None),
        (["E-X", "L-X"], None),
        (["O-X", "B-X"], None),
        ([["I-X"], ["I-X", "B-X"], ["O", "B-Y"]], "iob1"),
    ],
)
def test_detection(labels, expected):
    assert schemes.detect(labels) == expected


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes", "bilou"])
def test_detection_finds_the_scheme_of_all_labellings_together(scheme):
    assert schemes.detect([list(labels) for labels in oracle.well_formed(4, TYPES, scheme)]) == scheme


def test_tag_sets_are_told_from_other_labels():
    assert schemes.is_tag_set({"O", "B-X", "I-X"})
    assert not schemes.is_tag_set({"NN", "VB", "O"})
    assert not schemes.is_tag_set({"O"})


def test_bare_letters_are_tags_of_the_empty_type():
    assert schemes.spans(["B", "I", "O", "B"]) == [Span(0, 2, ""), Span(3, 4, "")]
    assert schemes.convert(["B", "I", "O", "B"], "bio", "iobes") == ["B", "E", "O", "S"]


def test_names_have_aliases_and_any_case():
    assert schemes.convert(["B-X", "I-X"], "BIO", "BIOES") == ["B-X", "E-X"]


def test_one_sequence_and_many():
    assert schemes.convert([["I-X"], []], "iob1", "iob2") == [["B-X"], []]
    assert schemes.convert([], "iob1", "iob2") == []


def test_spans_may_come_unsorted():
    spans = [Span(2, 3, "X"), Span(0, 2, "X")]
    assert schemes.labels_from_spans(spans, 4, "iob1") == ["I-X", "I-X", "B-X", "O"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: schemes.spans(["O", "S-X"], "iob2"), r"token 1: label 'S-X' .* iob2; use O"),
        (lambda: schemes.spans(["NN"]), "label 'NN' does not belong to scheme conlleval"),
        (lambda: schemes.convert([["O"], ["E-X"]], "iob2", "io"), "sequence 1, token 0: label"),
        (lambda: schemes.convert(["O"], "iob3", "iob2"), "scheme 'iob3' is unknown; use one of io"),
        (lambda: schemes.may_follow("O", "NN", "iob2"), "label 'NN' does not belong"),
        (lambda: schemes.labels_from_spans([Span(0, 3, "X")], 2, "io"), "not lie within 2 tokens"),
        (lambda: schemes.labels_from_spans([Span(1, 1, "X")], 2, "io"), "not lie within 2 tokens"),
        (
            lambda: schemes.labels_from_spans([Span(0, 2, "X"), Span(1, 2, "Y")], 2, "io"),
            "overlaps",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(CorpusError, match=message):
        call()


@pytest.mark.slow
def test_conll_2003_is_iob1_but_for_two_labels(data_file):
    from fieldcraft import read

    path = data_file("conll2003/eng.train.gz")
    corpus = read(path, columns="word pos chunk ner", label="ner")
    assert schemes.detect(corpus.labels) == "iob1"
    found = schemes.validate(corpus.labels, "iob1")
    assert [(v.label, v.expected) for v in found] == [("B-MISC", "I-MISC")] * 2
    counts = Counter(span.label for spans in corpus.spans() for span in spans)
    assert counts == {"LOC": 7140, "MISC": 3438, "ORG": 6321, "PER": 6600}
    converted = corpus.to_scheme("iobes")
    assert schemes.validate(converted.labels, "iobes") == []
    assert converted.spans() == corpus.spans()
