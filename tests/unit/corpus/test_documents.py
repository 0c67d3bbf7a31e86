"""Documents as sequences, in column files and CoNLL-U."""

from __future__ import annotations

import io
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import CorpusError

COLUMNS = """-DOCSTART- O

Rome I-LOC
fell O

Paris I-LOC

-DOCSTART- O
Ada I-PER
-DOCSTART- O

-DOCSTART- O
Bob I-PER
"""
CONLLU = """# newdoc id = one
# sent_id = 1
1\tRome\tRome\tPROPN\t_\t_\t0\troot\t_\t_

# sent_id = 2
1\tfell\tfall\tVERB\t_\t_\t0\troot\t_\t_

# newdoc id = two
1\tAda\tAda\tPROPN\t_\t_\t0\troot\t_\t_
"""


def read(text: str, **options: Any) -> Any:
    return fc.read(io.StringIO(text), documents=True, **options)


def test_sentences_of_a_document_are_one_sequence() -> None:
    corpus = read(COLUMNS, columns="word ner", label="ner", scheme="iob2")
    assert corpus.column("word") == [["Rome", "fell", "Paris"], ["Ada"], ["Bob"]]
    assert corpus.column("sentence") == [["0", "0", "1"], ["0"], ["0"]]
    assert corpus.labels == [["B-LOC", "O", "B-LOC"], ["B-PER"], ["B-PER"]]
    assert corpus.fields == ("word", "sentence", "ner")
    assert corpus[1].info == {"document": "-DOCSTART- O"}


def test_labels_are_respelled_before_sentences_are_joined() -> None:
    corpus = read("-DOCSTART- O\n\nRome I-LOC\n\nParis I-LOC\n", label=-1, scheme="iob2")
    assert corpus.labels == [["B-LOC", "B-LOC"]]  # two spans: each sentence has one


def test_several_label_columns_and_none() -> None:
    two = read("# doc a\nRome N L\nfell V O\n\n. P O\n", columns="word pos ner", label=["pos", "ner"])
    assert two.labels == [{"pos": ["N", "V", "P"], "ner": ["L", "O", "O"]}]
    assert read("# doc a\nRome\n\n# doc b\nAda\n").column("word") == [["Rome"], ["Ada"]]


def test_conllu_and_streams() -> None:
    corpus = read(CONLLU, format="conllu", columns=["form"], label="upos")
    assert corpus.column("form") == [["Rome", "fell"], ["Ada"]]
    assert corpus[0].info["comments"] == ["# newdoc id = one", "# sent_id = 1", "# sent_id = 2"]
    stream = read(CONLLU, format="conllu", lazy=True)
    assert [len(sequence) for sequence in stream] == [2, 1]
    assert stream.column_names[-1] == "sentence"


def test_a_document_may_begin_without_a_line() -> None:
    assert read("Rome\n\n-DOCSTART-\n\nAda\n").column("word") == [["Rome"], ["Ada"]]


@pytest.mark.parametrize(
    ("text", "options", "rule"),
    [
        ("Rome\n\nAda\n", {}, "no line opens a document"),
        ("-DOCSTART-\n\nAda\n", {"docstart": "keep"}, "docstart='keep' reads the lines"),
        ('{"word": ["a"]}\n', {"format": "jsonl"}, "documents= is not for format jsonl"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, options: dict[str, Any], rule: str) -> None:
    with pytest.raises(CorpusError, match=rule):
        read(text, **options)


def test_tables_are_refused() -> None:
    with pytest.raises(CorpusError, match="documents= is for column files"):
        fc.read({"word": [["a"]]}, documents=True)
