"""The containers: sequences, corpora, tables in and out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fieldcraft as fc
from fieldcraft.corpus import Corpus, Sequence, Span
from fieldcraft.errors import CorpusError

TOKENS = {
    "sent": [7, 7, 9],
    "word": ["in", "Rome", "Paul"],
    "pos": ["IN", "NNP", "NNP"],
    "ner": ["O", "B-LOC", "B-PER"],
}
SENTENCES = {
    "word": [["in", "Rome"], ["Paul"]],
    "pos": [["IN", "NNP"], ["NNP"]],
    "ner": [["O", "B-LOC"], ["B-PER"]],
}


@pytest.fixture
def corpus():
    return Corpus.from_table(TOKENS, sequence="sent", label="ner")


def test_a_corpus_is_a_list_of_sequences(corpus):
    assert len(corpus) == 2
    assert corpus.n_tokens == 3
    assert [len(sequence) for sequence in corpus] == [2, 1]
    assert corpus[1].columns == {"word": ["Paul"], "pos": ["NNP"]}
    assert corpus[-1] is corpus[1] is corpus[np.int64(1)]
    assert corpus.column_names == ["word", "pos"]
    assert corpus.label_names == ("ner",)
    assert corpus.labels == [["O", "B-LOC"], ["B-PER"]]
    assert corpus.column("word") == [["in", "Rome"], ["Paul"]]
    assert corpus.spans() == [[Span(1, 2, "LOC")], [Span(0, 1, "PER")]]


@pytest.mark.parametrize("index", [slice(1, None), [1], np.array([1])])
def test_parts_of_a_corpus_are_corpora(corpus, index):
    part = corpus[index]
    assert isinstance(part, Corpus)
    assert list(part) == [corpus[1]]
    assert (part.fields, part.label_names) == (corpus.fields, corpus.label_names)


def test_another_column_can_be_the_label(corpus):
    again = corpus.with_label("pos")
    assert again.labels == [["IN", "NNP"], ["NNP"]]
    assert again.column_names == ["word", "ner"]
    assert again.with_label("ner") == corpus
    both = corpus.with_label(["pos", "ner"])
    assert both[0].labels == {"pos": ["IN", "NNP"], "ner": ["O", "B-LOC"]}
    assert both.spans(label="ner") == corpus.spans()
    assert corpus.with_label(None)[0].labels is None


def test_labels_change_their_scheme(corpus):
    assert corpus.to_scheme("iobes").labels == [["O", "S-LOC"], ["S-PER"]]
    assert corpus.labels[0] == ["O", "B-LOC"]


def test_a_plain_corpus_names_its_label():
    corpus = Corpus([Sequence({"word": ["a"]}, ["O"])])
    assert corpus.label_names == ("label",)
    assert corpus.fields == ("word", "label")
    assert Corpus([]).labels == []
    assert Corpus([]).column_names == []


@pytest.mark.parametrize(
    ("table", "sequence"),
    [
        (TOKENS, "sent"),
        (pd.DataFrame(TOKENS), "sent"),
        (pd.DataFrame(TOKENS).astype({"pos": "category", "word": "string"}), "sent"),
        (pa.table(TOKENS), "sent"),
        (pa.RecordBatch.from_pydict(TOKENS), "sent"),
        (SENTENCES, None),
        (pd.DataFrame(SENTENCES), None),
        (pa.table(SENTENCES), None),
        (pa.table(SENTENCES).to_pandas(), None),
    ],
)
def test_tables_of_every_kind_give_the_same_corpus(table, sequence):
    corpus = fc.read(table, sequence=sequence, label="ner", columns=["word", "pos", "ner"])
    assert corpus.column("word") == SENTENCES["word"]
    assert corpus.column("pos") == SENTENCES["pos"]
    assert corpus.labels == SENTENCES["ner"]
    assert all(type(word) is str for words in corpus.column("word") for word in words)


def test_a_corpus_goes_into_tables(corpus):
    table = corpus.to_table()
    assert list(table) == ["sequence", "word", "pos", "ner"]
    for kind in (pd.DataFrame, pa.table):
        again = fc.read(kind(table), sequence="sequence", label="ner")
        assert (again.labels, again.column("pos")) == (corpus.labels, corpus.column("pos"))


def test_columns_give_a_corpus():
    corpus = Corpus.from_columns({"word": [["a", "b"], ["c"]]}, [["X", "Y"], ["X"]], source="here")
    assert corpus.labels == [["X", "Y"], ["X"]]
    assert corpus.source == "here"
    assert Corpus.from_columns({"word": [["a"]]})[0].labels is None


def test_whole_numbers_become_strings():
    corpus = fc.read({"id": ["a"], "tag": [3]}, sequence="id", label="tag")
    assert corpus.labels == [["3"]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fc.read(TOKENS, sequence="sent", label="tag"), "label column 'tag' is not one of"),
        (lambda: fc.read(TOKENS, sequence="doc"), "sequence column 'doc' is not one of sent, word"),
        (lambda: fc.read(TOKENS), "pass sequence="),
        (
            lambda: fc.read({"i": [1, 2, 1], "w": list("abc")}, sequence="i"),
            "row 2: sequence 1 was",
        ),
        (lambda: fc.read({"i": [1, None], "w": list("ab")}, sequence="i"), "row 1 has no sequence"),
        (
            lambda: fc.read(pd.DataFrame({"i": pd.array([1, None], "Int64"), "w": list("ab")}), sequence="i"),
            "row 1 has no sequence id",
        ),
        (lambda: fc.read({"i": [1], "w": [float("nan")]}, sequence="i"), "row 0, 'w': .* missing"),
        (lambda: fc.read({"i": [1], "w": [0.5]}, sequence="i"), "row 0, 'w': 0.5 is not a string"),
        (lambda: fc.read({"i": [1], "w": ["a", "b"]}, sequence="w"), "'i' has 1 rows where 2 were"),
        (lambda: fc.read(pd.DataFrame([["a"]]), sequence=None), "column 0 of the table"),
        (lambda: fc.read({"w": [["a"]], "l": [["X", "Y"]]}, label="l"), "row 0: .* 2 tokens"),
        (lambda: fc.read({"w": [["a"]], "l": []}, label="l"), "'l' has 0 rows where 1"),
        (lambda: fc.read(3), "a int cannot be read"),
        (lambda: Corpus([Sequence({"w": ["a"]})]).labels, "sequence 0 has no labels; read"),
        (lambda: Corpus([Sequence({"w": ["a"]})]).spans(), "no labels"),
        (lambda: Corpus([Sequence({"w": ["a"]})]).column("v"), "column 'v' is not one of w"),
        (lambda: Sequence({"w": ["a"]}, {"x": ["O"]}).spans(label="y"), "'y' is not one of x"),
        (lambda: Sequence({"w": ["a"], "v": []}).check("here"), "here: column 'v' has 0 tokens"),
        (
            lambda: Corpus.from_table(TOKENS, sequence="sent", label="pos").to_scheme("io"),
            "sequence 0, token 0: label 'IN'",
        ),
        (
            lambda: Corpus.from_columns({"sequence": [["a"]]}).to_table(),
            "has a column 'sequence'; pass sequence=",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(CorpusError, match=message):
        call()
