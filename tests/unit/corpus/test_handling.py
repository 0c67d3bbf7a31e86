"""Corpora as people handle them: joined, with further columns, as tables, from CSV."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import CorpusError


def corpus(*words: str, label: str = "ner") -> fc.Corpus:
    return fc.Corpus.from_columns({"word": [[w] for w in words]}, [["O"] for _ in words], label=label)


def test_corpora_are_added() -> None:
    both = corpus("a", "b") + corpus("c")
    assert both.column("word") == [["a"], ["b"], ["c"]]
    assert (both.label_names, both.fields) == (("ner",), ("word", "ner"))
    assert both + fc.Corpus([]) == both == fc.Corpus([]) + both
    with pytest.raises(CorpusError, match="read both with the same columns= and label="):
        corpus("a") + corpus("b", label="tag")


def test_a_further_column() -> None:
    two = corpus("Ada", "b")
    lower = two.with_column("lower", lambda s: [w.lower() for w in s.columns["word"]])
    assert lower.fields == ("word", "lower", "ner")
    assert lower.column("lower") == [["ada"], ["b"]]
    assert two.column_names == ["word"]
    again = lower.with_column("lower", [["x"], ["y"]])
    assert (again.fields, again.column("lower")) == (lower.fields, [["x"], ["y"]])
    out = io.StringIO()
    fc.write(again, out)
    assert out.getvalue() == "Ada x O\n\nb y O\n\n"
    assert fc.ChainCRF("lower").fit(lower).predict(lower).tolist() == [["O"], ["O"]]


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("x", [["a"]], "'x' has 1 lists for 2 sequences"),
        ("x", [["a", "b"], ["c"]], "sequence 0: column 'x' has 2 tokens where 1 were expected"),
        ("x", lambda s: [1] * len(s), "sequence 0, token 0: x is 1; columns have strings"),
        ("ner", [["a"], ["b"]], "'ner' is the label column"),
    ],
    ids=["count", "length", "number", "label"],
)
def test_columns_that_do_not_fit(name: str, values: Any, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        corpus("a", "b").with_column(name, values)


def test_pandas_and_back() -> None:
    pytest.importorskip("pandas")
    frame = corpus("a", "b").to_pandas()
    assert frame.columns.tolist() == ["sequence", "word", "ner"]
    back = fc.read(frame, sequence="sequence", label="ner")
    assert (back.column("word"), back.labels) == ([["a"], ["b"]], [["O"], ["O"]])


CSV = 'sentence,word,ner\n1,Rome,B-LOC\n1,"a, b",O\n\n2,"""",O\n'


def test_csv_by_column_and_by_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(CSV)
    read = fc.read(path, sequence="sentence", label="ner")
    assert read.column("word") == [["Rome", "a, b"], ['"']]
    assert read.labels == [["B-LOC", "O"], ["O"]]
    assert fc.read(path, label="ner", columns="word").column_names == ["word"]
    fc.write(read, tmp_path / "y.csv")
    assert fc.read(tmp_path / "y.csv", label="ner") == read
    path.write_text("word;ner\nRome;B-LOC\n;\nfell;O\n")
    assert fc.read(path, label=-1).labels == [["B-LOC"], ["O"]]


def test_tsv_is_columns_unless_its_first_line_has_the_names(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('word\tner\n"\tO\nRome\tB-LOC\n')
    assert len(fc.read(path, label=-1)[0]) == 3
    assert fc.read(path, columns="word ner", label="ner").column("word") == [['"', "Rome"]]
    assert fc.read(path, format="tsv", label="ner").labels == [["O", "B-LOC"]]
    fc.write(fc.read(path, format="tsv", label="ner"), tmp_path / "y.tsv", format="tsv")
    assert (tmp_path / "y.tsv").read_text() == path.read_text()


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("word,ner\na\n", {}, ":2: 1 fields where the first line names 2"),
        ("word,ner\na,O\n", {"sequence": "id"}, ":1: sequence column 'id' is not one of word, ner"),
        ("word,ner\na,O\n", {"label": "pos"}, ":1: label column 'pos' is not one of word, ner"),
        ('word,ner\n"a"b,O\n', {}, "double the quotes inside a quoted field"),
        ("", {}, "no sequence was found"),
    ],
    ids=["short", "sequence", "label", "quotes", "empty"],
)
def test_tables_that_do_not_fit(text: str, options: dict[str, Any], problem: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        fc.read(tmp_path / "x.csv", **options)
