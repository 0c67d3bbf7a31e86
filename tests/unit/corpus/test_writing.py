"""Writers: what is written is read back, predictions find their place, files appear whole."""

from __future__ import annotations

import gzip
import io
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldcraft as fc
from fieldcraft.corpus import Corpus, Sequence
from fieldcraft.errors import CorpusError

CORPUS = Corpus(
    [
        Sequence({"word": ["Rome", "fell"], "pos": ["NNP", "VBD"]}, ["B-LOC", "O"]),
        Sequence({"word": ["Paul"], "pos": ["NNP"]}, ["B-PER"]),
    ],
    label="ner",
)
PREDICTED = [["O", "O"], ["B-LOC"]]

# no surrogates (not text), no byte-order mark (dropped where it opens a file)
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff")
texts = st.text(characters, max_size=4)
fields = st.text(characters.filter(lambda c: c not in "\t\r\n"), max_size=4)
last_fields = fields.filter(lambda text: text and not text.endswith(" "))
blanked = fields.filter(lambda text: text and " " not in text)


def corpora(strings, last, *, smallest=1):
    """Corpora with the columns a, b and the label column y, which stands between them."""

    def sequence(size):
        a, y, b = (st.lists(each, min_size=size, max_size=size) for each in (strings, strings, last))
        return st.builds(lambda a, b, y: Sequence({"a": a, "b": b}, y), a, b, y)

    sequences = st.lists(st.integers(smallest, 4).flatmap(sequence), min_size=1, max_size=4)
    return sequences.map(lambda found: Corpus(found, label="y", fields=("a", "y", "b")))


def written(corpus, **options):
    buffer = io.BytesIO()
    fc.write(corpus, buffer, **options)
    return buffer.getvalue()


AS_COLUMNS = {"columns": "a y b", "label": "y", "format": "columns", "docstart": "keep"}


@settings(max_examples=40)
@given(corpora(blanked, blanked))
def test_columns_parted_by_blanks_come_back(corpus):
    assert fc.read(io.BytesIO(written(corpus)), separator="blank", **AS_COLUMNS) == corpus


@settings(max_examples=40)
@given(corpora(fields, last_fields))
def test_columns_parted_by_tabs_come_back(corpus):
    data = io.BytesIO(written(corpus, separator="tab"))
    assert fc.read(data, separator="tab", **AS_COLUMNS) == corpus


@settings(max_examples=40)
@given(corpora(texts, texts, smallest=0))
def test_json_lines_come_back(corpus):
    again = fc.read(io.BytesIO(written(corpus, format="jsonl")), label="y", format="jsonl")
    assert again == corpus
    assert again.fields == corpus.fields


@settings(max_examples=40)
@given(corpora(blanked, blanked))
def test_conllu_comes_back(corpus):
    names = {"a": "form", "b": "feats"}
    renamed = Corpus(
        [Sequence({names[k]: v for k, v in s.columns.items()}, s.labels) for s in corpus],
        label="upos",
    )
    data = io.BytesIO(written(renamed, format="conllu"))
    assert fc.read(data, columns="form feats", label="upos", format="conllu") == renamed


names = fields.filter(bool)
labels = names.filter(lambda name: name[0] != "@" and name.strip(" "))
numbers = st.floats(allow_nan=False, allow_infinity=False)
tokens = st.tuples(labels, st.dictionaries(names, numbers, max_size=3))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(tokens, min_size=1, max_size=3), numbers), min_size=1))
def test_attribute_files_come_back(drawn):
    sequences = [
        Sequence({}, [y for y, _ in pairs], attributes=[x for _, x in pairs], weight=weight)
        for pairs, weight in drawn
    ]
    corpus = Corpus(sequences, label="label")
    assert fc.read(io.BytesIO(written(corpus, format="attributes")), format="attributes") == corpus


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, b"Rome NNP B-LOC\nfell VBD O\n\nPaul NNP B-PER\n\n"),
        ({"predicted": PREDICTED}, b"Rome NNP B-LOC O\nfell VBD O O\n\nPaul NNP B-PER B-LOC\n\n"),
        (
            {"predicted": {"x": PREDICTED, "y": iter(PREDICTED)}, "separator": "tab"},
            b"Rome\tNNP\tB-LOC\tO\tO\nfell\tVBD\tO\tO\tO\n\nPaul\tNNP\tB-PER\tB-LOC\tB-LOC\n\n",
        ),
        (
            {"predicted": PREDICTED, "format": "jsonl"},
            b'{"word": ["Rome", "fell"], "pos": ["NNP", "VBD"], "ner": ["B-LOC", "O"], '
            b'"predicted": ["O", "O"]}\n'
            b'{"word": ["Paul"], "pos": ["NNP"], "ner": ["B-PER"], "predicted": ["B-LOC"]}\n',
        ),
    ],
)
def test_predictions_follow_the_other_columns(options, expected):
    assert written(CORPUS, **options) == expected


def test_predictions_take_the_place_of_the_label_where_it_is_fixed():
    tagged = Corpus([Sequence({"form": ["Rome"]}, ["X"], info={"comments": ["# a"]})], label="upos")
    data = written(tagged, format="conllu", predicted=[["PROPN"]])
    assert data == b"# a\n1\tRome\t_\tPROPN" + b"\t_" * 6 + b"\n\n"
    plain = Corpus([Sequence({}, ["X"], attributes=[{"a": 1.0, "b": 0.5}])], label="label")
    assert written(plain, format="attributes", predicted=[["Y"]]) == b"Y\ta\tb:0.5\n\n"


def test_what_was_read_is_written_in_its_order():
    text = "Rome B-LOC NNP\nfell O VBD\n\n"
    corpus = fc.read(io.StringIO(text), columns="word ner pos", label="ner")
    assert written(corpus).decode() == text


@pytest.mark.parametrize("label", [None, -1, [1, 2]])
def test_streams_are_written_as_they_come(tmp_path, label):
    path = tmp_path / "a.conll"
    fc.write(CORPUS, path)
    stream = fc.read(path, label=label, lazy=True)
    fc.write(stream, path, predicted=(labels for labels in PREDICTED))  # over its own source
    again = fc.read(path, label=-1)
    assert again.labels == PREDICTED
    assert again.with_label(2).labels == CORPUS.labels


def test_targets_of_every_kind(tmp_path, capfdbinary):
    plain = written(CORPUS)
    fc.write(CORPUS, tmp_path / "a.conll")
    assert (tmp_path / "a.conll").read_bytes() == plain
    fc.write(CORPUS, str(tmp_path / "a.conll.gz"))
    fc.write(CORPUS, tmp_path / "b.conll.gz")
    assert gzip.decompress((tmp_path / "a.conll.gz").read_bytes()) == plain
    assert (tmp_path / "a.conll.gz").read_bytes() == (tmp_path / "b.conll.gz").read_bytes()
    text = io.StringIO()
    fc.write(CORPUS, text)
    assert text.getvalue().encode() == plain
    fc.write(CORPUS, "-")
    assert capfdbinary.readouterr().out == plain
    fc.write(CORPUS, tmp_path / "a.jsonl")
    assert fc.read(tmp_path / "a.jsonl", label="ner") == CORPUS


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("before")
    with pytest.raises(CorpusError, match="sequence 1: predicted ends before it"):
        fc.write(CORPUS, path, predicted=PREDICTED[:1])
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.conll"]


def test_links_and_permissions_survive(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("before")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    fc.write(CORPUS, link)
    assert link.is_symlink()
    assert path.read_bytes() == written(CORPUS)
    assert path.stat().st_mode & 0o777 == 0o640


def of_words(*words, **options):
    return Corpus([Sequence({"word": list(words)}, ["O"] * len(words))], **options)


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        (CORPUS, {"predicted": [["O"], ["O"]]}, "sequence 0: predicted has 1 labels where 2"),
        (CORPUS, {"predicted": [*PREDICTED, ["O"]]}, "predicted has more than 2 sequences"),
        (CORPUS, {"predicted": {"ner": PREDICTED}}, "has a column 'ner' already"),
        (CORPUS, {"format": "xml"}, "format 'xml' is unknown"),
        (CORPUS, {"separator": ","}, "separator ',' is unknown; use blank or tab"),
        (CORPUS, {"format": "jsonl", "separator": "tab"}, "separator= is not for format jsonl"),
        (CORPUS, {"format": "conllu"}, "CoNLL-U has no column 'word'"),
        (CORPUS, {"format": "attributes"}, "sequence 0: attribute files need attributes"),
        (of_words("New York"), {}, "token 0: word 'New York' cannot .* separator='tab'"),
        (of_words("a", ""), {}, "token 1: word '' cannot be written"),
        (of_words("a\tb"), {"separator": "tab"}, r"word 'a\\tb' cannot be written .* write jsonl"),
        (of_words("", label="y", fields=("y", "word")), {"separator": "tab"}, "word '' cannot"),
        (of_words(), {}, "sequence 0: is empty, which column files cannot represent; write jsonl"),
        (of_words("\ud800"), {}, r"character '\\ud800' does not exist in utf-8"),
        (of_words("東"), {"encoding": "latin-1"}, "does not exist in latin-1"),
    ],
)
def test_refusals(corpus, options, message):
    with pytest.raises(CorpusError, match=message):
        written(corpus, **options)


def test_a_folder_is_no_target(tmp_path):
    with pytest.raises(CorpusError, match=re.escape(str(tmp_path))):
        fc.write(CORPUS, tmp_path / "absent" / "a.conll")


def test_a_public_corpus_comes_back_byte_for_byte(data_file):
    path = data_file("conll2000/test.txt")
    corpus = fc.read(path, columns="word pos chunk", label="chunk")
    assert written(corpus).strip() == path.read_bytes().strip()
