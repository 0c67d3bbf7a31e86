"""Readers: every format, every source, and where the errors point."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import sys
import time
import tracemalloc
from typing import ClassVar

import pytest

import fieldcraft as fc
from fieldcraft.corpus import Corpus, Stream
from fieldcraft.errors import CorpusError

TEXT = "Rome NNP I-LOC\nfell VBD O\n\nPaul NNP I-PER\n"
WORDS = [["Rome", "fell"], ["Paul"]]
LABELS = [["I-LOC", "O"], ["I-PER"]]


def read_text(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return fc.read(io.BytesIO(data), **options)


def assert_is_the_example(corpus):
    assert corpus.column(corpus.column_names[0]) == WORDS
    assert corpus.labels == LABELS


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.rstrip("\n"),
        TEXT + "\n\n\n",
        "\n \n\t\n" + TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r\n").rstrip("\n"),
        TEXT.replace("\n", " \t \n"),
        TEXT.replace(" ", "   "),
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", "\t").replace("\n", "  \n"),
        TEXT.replace("\n\n", "\n-DOCSTART- -X- O\n\n"),
        TEXT.replace("\n\n", "\n-DOCSTART-\n"),
        TEXT.encode("utf-8-sig"),
        gzip.compress(TEXT.encode(), mtime=0),  # the clock is no part of a test's name
        gzip.compress(TEXT[:9].encode(), mtime=0) + gzip.compress(TEXT[9:].encode(), mtime=0),
    ],
)
def test_column_files_are_read_whatever_their_line_ends_and_blanks(text):
    assert_is_the_example(read_text(text, columns="word pos ner", label="ner"))


def test_sources_of_every_kind(tmp_path, monkeypatch):
    path = tmp_path / "a.conll"
    path.write_text(TEXT)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    with path.open() as text_file, path.open("rb", buffering=0) as raw_file:
        sources = [path, str(path), packed, io.StringIO(TEXT), text_file, raw_file]
        for source in sources:
            assert_is_the_example(fc.read(source, label=-1))
        assert not raw_file.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert_is_the_example(fc.read("-", label=-1))


def test_columns_and_labels_are_chosen_by_name_and_position():
    assert read_text(TEXT).column_names == ["word", "c1", "label"]
    assert read_text(TEXT)[0].labels is None
    corpus = read_text(TEXT, columns=["word", "pos", "ner"], label="pos")
    assert (corpus.column_names, corpus.fields) == (["word", "ner"], ("word", "pos", "ner"))
    several = read_text(TEXT, label=["c1", "c2"])
    assert several.labels[0] == {"c1": ["NNP", "VBD"], "label": ["I-LOC", "O"]}
    assert several.label_names == ("c1", "label")


def test_the_scheme_is_changed_on_the_way_in():
    expected = [["B-LOC", "O"], ["B-PER"]]
    assert read_text(TEXT, label=-1, scheme="iob2").labels == expected
    lazy = read_text(TEXT, label=-1, scheme="iob2", lazy=True)
    assert [sequence.labels for sequence in lazy] == expected


def test_document_starts_are_kept_on_request():
    text = "-DOCSTART- -X- O\n\n" + TEXT
    corpus = read_text(text, label=-1, docstart="keep")
    assert corpus.column("c0") == [["-DOCSTART-"], *WORDS]


def test_comments_are_dropped_on_request():
    text = "# doc 1\n" + TEXT.replace("fell", "# doc 2\nfell")
    assert_is_the_example(read_text(text, label=-1, comment="# doc "))


def test_only_blanks_and_tabs_part_columns():
    odd = ["1\u00a0000", "\u3000", "a\u2028b", "x\x85", "\x0c", "\x1c"]
    corpus = read_text("".join(f"{word} O\n" for word in odd), label=-1)
    assert corpus.column("c0") == [odd]


def test_tabbed_fields_may_hold_blanks_and_nothing():
    corpus = read_text("New York\tNNP\tB\n\t\tI\n", label=-1)
    assert corpus.column("c0") == [["New York", ""]]
    assert corpus.labels == [["B", "I"]]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "cp1252", "utf_8"])
def test_encodings(encoding):
    assert read_text("Zürich O\n".encode(encoding), encoding=encoding).column("c0") == [["Zürich"]]


@pytest.mark.parametrize("cut", range(1, 8))
def test_characters_and_line_ends_may_straddle_chunks(monkeypatch, cut):
    monkeypatch.setattr("fieldcraft.corpus.sources._CHUNK", cut)
    corpus = read_text("Zürich O\r\nnach O\r\n\r\n東京 O\r\n", label=-1)
    assert corpus.column("c0") == [["Zürich", "nach"], ["東京"]]


def test_conllu_skips_what_is_no_word():
    rows = ["1-2\tcan't", "1\tca", "2\tn't", "2.1\tghost", "3\tgo"]
    text = "# sent_id = 1\n" + "".join(f"{row}{'	_' * 7}\tx\n" for row in rows) + "\n"
    corpus = read_text(text, label="misc", columns="form upos")
    assert corpus.column("form") == [["ca", "n't", "go"]]
    assert corpus.labels == [["x"] * 3]
    assert corpus.column_names == ["form", "upos"]
    assert corpus[0].info == {"comments": ["# sent_id = 1"]}


def test_conllu_is_read_with_its_tags_unless_told_otherwise(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tRome\t_\tPROPN" + "\t_" * 6 + "\n")
    for options in ({}, {"label": "auto"}, {"columns": "form upos"}, {"label": "upos"}):
        assert fc.read(path, **options).labels == [["PROPN"]]
        assert fc.read(path, **options).label_names == ("upos",)
    for options in ({"label": None}, {"columns": "form"}):
        assert fc.read(path, **options)[0].labels is None
    assert fc.read(path, label=None).column("upos") == [["PROPN"]]
    assert fc.read(path, label="xpos").column("upos") == [["PROPN"]]
    assert read_text("Rome PROPN\n")[0].labels is None


def test_attribute_files_are_read_as_crfsuite_reads_them():
    text = "@weight:2.5\nB\ta\tb:2\tc\\:d:0.5\te\\\\:3\tf\\g\th:\nO\\:x\ta\ta:2\t\n\n\nO\t:3\n"
    corpus = read_text(text, format="attributes")
    assert corpus.labels == [["B", "O:x"], ["O"]]
    assert corpus[0].attributes == [
        {"a": 1.0, "b": 2.0, "c:d": 0.5, "e\\": 3.0, "f\\g": 1.0, "h": 1.0},
        {"a": 3.0},
    ]
    assert [sequence.weight for sequence in corpus] == [2.5, 1.0]
    assert read_text("@weight:3\tB\ta\n", format="attributes")[0].weight == 3.0
    assert len(corpus[0]) == 2


def test_json_lines():
    text = (
        '{"id": 1, "word": ["Rome", "fell"], "tag": [3, 0], "weight": 2}\n\n'
        '{"word": ["Paul"], "tag": [1], "attributes": [{"x": 1}], "rest": {"a": []}}\n'
    )
    corpus = read_text(text, label="tag")
    assert corpus.column("word") == WORDS
    assert corpus.labels == [["3", "0"], ["1"]]
    assert [sequence.info for sequence in corpus] == [{"id": 1}, {"rest": {"a": []}}]
    assert corpus[0].weight == 2.0
    assert corpus[1].attributes == [{"x": 1.0}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.conllu", "1\tRome" + "\t_" * 8 + "\n"),
        ("a", "1\tRome" + "\t_" * 8 + "\n"),
        ("a", "# text = Rome\n1\tRome" + "\t_" * 8 + "\n"),
        ("a.jsonl", '{"form": ["Rome"]}\n'),
        ("a.txt", '\n{"form": ["Rome"]}\n'),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_the_format_is_found_by_extension_and_content(tmp_path, name, text, lazy):
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        assert [s.columns["form"] for s in fc.read(path, lazy=lazy)] == [["Rome"]]


def test_streams_can_be_iterated_again(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(TEXT)
    stream = fc.read(path, label=-1, lazy=True)
    assert isinstance(stream, Stream)
    assert list(stream) == list(stream) == list(fc.read(path, label=-1))
    assert stream.read() == fc.read(path, label=-1)
    assert (stream.column_names, stream.label_names) == (["word", "c1"], ("label",))


def test_open_streams_can_be_iterated_once():
    stream = read_text(TEXT, lazy=True)
    assert len(list(stream)) == 2
    with pytest.raises(CorpusError, match="was read already"):
        list(stream)


def test_streams_use_constant_memory(tmp_path):
    path = tmp_path / "long.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        for index in range(10_000):
            file.write(f"word{index} NNP O\nthing{index} VBD O\n" * 5 + "\n")
    tracemalloc.start()
    n_tokens = sum(map(len, fc.read(path, lazy=True)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_tokens == 100_000
    assert peak < 5e6  # a few chunks of 256 KB and their lines; the whole takes over 15 MB


def test_equal_strings_are_one_object():
    corpus = read_text("a X\na X\n\na X\n", label=-1)
    strings = [*itertools.chain(*corpus.column("c0")), *itertools.chain(*corpus.labels)]
    assert len({id(string) for string in strings}) == 2


WRONG = [
    ("a b\n\na b c\nd e\n", {}, r"<stream>:3: 3 columns where 2 were expected; separate"),
    ("a b\nc\n", {}, r":2: 1 columns where 2 were expected"),
    ("a b\n", {"columns": "w p n"}, r":1: 2 columns where 3 were expected"),
    ("x\n\n# c\na b\n", {"comment": "# "}, r":4: 2 columns where 1"),
    (b"a b\n\nc \xff\n", {}, r":3: byte 0xff is not utf-8 text; pass encoding="),
    (b"\xef\xbb\xbfa b\nc \xe9t\n", {}, r":2: byte 0xe9 is not utf-8"),
    (b"a b\nc \xc3", {}, r":2: byte 0xc3"),
    ("", {}, r":1: no sequence was found"),
    ("\n \n", {}, r":1: no sequence was found"),
    ("-DOCSTART- O\n", {}, r":1: no sequence was found"),
    (
        "\na b\n",
        {"label": "ner"},
        r":2: label column 'ner' is not one of word, label; name the columns: --columns word,ner",
    ),
    ("a b\n", {"label": 2}, r":1: label column 2 is not one of 2 columns"),
    ("a b\n", {"columns": "w w"}, r":1: .*occurs twice"),
    ("a b\n", {"format": "conl"}, r"format 'conl' is unknown; use auto or one of columns"),
    ("a b\n", {"separator": "::"}, r"separator '::' is unknown"),
    ("a b\n", {"docstart": "drop"}, r"docstart='drop' is unknown; use skip or keep"),
    ("a b\n", {"encoding": "utf-9"}, r"encoding 'utf-9' is unknown"),
    ("a b\n", {"sequence": "id"}, r"sequence= is not for format columns"),
    ("{}\n", {"separator": "tab"}, r"separator= is not for format jsonl"),
    ("a NN\n", {"label": -1, "scheme": "iob2"}, r"sequence 0, token 0: label 'NN' does not"),
    ("1\ta\n", {"format": "conllu"}, r":1: 2 columns where 10 were expected"),
    ("1" + "\t_" * 9, {"format": "conllu", "label": "pos"}, r"'pos' is not one of id, form"),
    ("B\ta:b\n", {"format": "attributes"}, r":1: attribute 'a:b': 'b' is not a number"),
    ("\n\n@wight:2\n", {"format": "attributes"}, r":3: declaration '@wight' is unknown"),
    ('{"w": ["a"]}\n[1]\n', {}, r":2: a JSON list where an object was expected"),
    ('{"w": ["a"]}\n{"w"\n', {}, r":2: no JSON object"),
    ('{"w": ["a"]}\n{"v": ["a"]}\n', {}, r":2: 'w' is missing or not an array of strings"),
    ('{"w": ["a"], "v": ["a", "b"]}\n', {}, r":1: column 'v' has 2 tokens where 1"),
    ('{"w": ["a"], "attributes": [3]}\n', {}, r":1: 'attributes' is not an array"),
    ('{"w": ["a"]}\n', {"label": "l"}, r":1: label column 'l' is not one of w"),
    (gzip.compress(b"a b\n" * 9, mtime=0)[:-9], {}, r"<stream>: cannot be read to its end"),
]


@pytest.mark.parametrize(("text", "options", "message"), WRONG)
def test_errors_say_where(text, options, message):
    with pytest.raises(CorpusError, match=message):
        read_text(text, **options)
    with pytest.raises(CorpusError, match=message):
        list(read_text(text, lazy=True, **options))


def test_a_wrong_byte_is_located_beyond_the_first_chunk(tmp_path):
    path = tmp_path / "far.conll"
    path.write_bytes(b"some word\n" * 300_000 + b"\xff x\n")
    with pytest.raises(CorpusError, match=r"far.conll:300001: byte 0xff"):
        fc.read(path)


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(CorpusError, match="absent: cannot be opened"):
        fc.read(tmp_path / "absent")
    with pytest.raises(CorpusError, match="cannot be opened"):
        fc.read(tmp_path)


PUBLIC = [
    ("conll2000/train.txt.gz", {"label": -1}, 8936, 211727),
    ("conll2000/test.txt", {"label": -1}, 2012, 47377),
    ("conll2003/eng.testb", {"label": -1}, 3453, 46435),
    ("conll2003/eng.testb", {"label": -1, "docstart": "keep"}, 3684, 46435 + 231),
    ("ud_en_ewt/en_ewt-ud-dev.conllu.gz", {"label": "upos"}, 2001, 25147),
    ("wnut17/wnut17train.conll", {"label": -1}, 3394, 62730),
    ("bc2gm/devel.tsv", {"label": -1}, 2519, 71042),
]


@pytest.mark.parametrize(("name", "options", "n_sequences", "n_tokens"), PUBLIC)
def test_public_corpora_have_their_published_sizes(data_file, name, options, n_sequences, n_tokens):
    corpus = fc.read(data_file(name), **options)
    assert isinstance(corpus, Corpus)
    assert (len(corpus), corpus.n_tokens) == (n_sequences, n_tokens)


@pytest.mark.parametrize(("width", "labels"), [(3, ["B-LOC"]), (2, None)])
def test_a_label_column_that_may_lack(width, labels):
    line = " ".join(["Rome", "NNP", "B-LOC"][:width]) + "\n"
    corpus = fc.read(io.StringIO(line), columns="word pos ner", label="ner", optional_label=True)
    assert corpus[0].columns == {"word": ["Rome"], "pos": ["NNP"]}
    assert corpus[0].labels == labels


def test_a_label_key_that_may_lack():
    text = '{"word": ["Rome"]}\n'
    corpus = fc.read(io.StringIO(text), format="jsonl", columns="word ner", label="ner", optional_label=True)
    assert (corpus[0].columns, corpus[0].labels) == ({"word": ["Rome"]}, None)


def test_a_stream_tells_what_it_found():
    stream = fc.read(io.StringIO("Rome\tNNP\n"), lazy=True)
    list(stream)
    assert (stream.format, stream.separator) == ("columns", "tab")


def test_what_a_slow_source_has_is_read_at_once():
    """One piece of the source, one batch of lines: nothing waits for more to come."""

    class Slow:
        pieces: ClassVar = [b"a\n\nb\n\n", b"c\n\n", b"d\n"]

        def read(self, _size):
            return self.pieces.pop(0) if self.pieces else b""

    source = Slow()
    left = [len(source.pieces) for _ in fc.read(source, lazy=True)]
    assert left == [2, 2, 1, 0]


@pytest.mark.parametrize("form", ["columns", "named", "jsonl"])
def test_a_hundred_thousand_columns(form):
    """In linear time, less than a second; in quadratic time it takes minutes."""
    names = [f"c{i}" for i in range(100_000)]
    options = {"label": "c99999", **({"columns": names} if form == "named" else {})}
    line = " ".join(map(str, range(100_000))) + "\n"
    if form == "jsonl":
        line = json.dumps({name: ["x"] for name in names}) + "\n"
        options["format"] = "jsonl"
    begin = time.process_time()
    corpus = fc.read(io.StringIO(line), **options)
    assert time.process_time() - begin < 1.0
    assert len(corpus.fields) == 100_000
    assert corpus.labels == [["x" if form == "jsonl" else "99999"]]
