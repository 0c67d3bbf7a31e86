"""`tag`: what stands in its output, in each form that can be asked for."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from shell import COLUMNS, column_text, refused, run, sentences

import fieldcraft as fc
from unit.models.counting import Counts

TEST = sentences(40, seed=3)
WORDS = [[token[0] for token in tokens] for tokens in TEST]


def blocks(text: str, separator: str = " ") -> list[list[list[str]]]:
    """Sequences of rows, as a reader of columns sees them."""
    return [
        [line.split(separator) for line in block.split("\n")] for block in text.rstrip("\n").split("\n\n")
    ]


@pytest.fixture(scope="module")
def crf(model: Path) -> fc.ChainCRF:
    return fc.load(model)


@pytest.fixture(scope="module")
def test_corpus(corpora: Path) -> fc.Corpus:
    return fc.read(corpora / "test.conll", columns="word pos ner", label="ner")


def test_columns_and_the_predicted_label(
    model: Path, corpora: Path, crf: fc.ChainCRF, test_corpus: fc.Corpus
) -> None:
    rows = blocks(run("tag", model, corpora / "test.conll").stdout)
    assert [[tuple(row[:3]) for row in block] for block in rows] == TEST
    assert [[row[3] for row in block] for block in rows] == crf.predict(test_corpus).tolist()


def test_files_without_gold_labels(model: Path) -> None:
    """The label column may lack; pipes, files, several files and gzip give the same labels."""
    with_gold = blocks(run("tag", model, stdin=column_text(TEST)).stdout)
    without = blocks(run("tag", model, stdin=column_text(TEST, width=2)).stdout)
    assert [[row[3] for row in block] for block in with_gold] == [
        [row[2] for row in block] for block in without
    ]
    assert {len(row) for block in without for row in block} == {3}


def test_several_files_and_gzip(model: Path, tmp_path: Path) -> None:
    text = column_text(TEST)
    (tmp_path / "a.conll").write_text(text)
    (tmp_path / "b.gz").write_bytes(gzip.compress(text.encode()))
    once = run("tag", model, stdin=text).stdout
    assert run("tag", model, "a.conll", "b.gz", cwd=tmp_path).stdout == once * 2
    assert run("tag", model, "-", "a.conll", cwd=tmp_path, stdin=text).stdout == once * 2


def test_output_file_is_whole_or_absent(model: Path, tmp_path: Path) -> None:
    text = column_text(TEST)
    run("tag", model, "-o", "out.conll.gz", cwd=tmp_path, stdin=text)
    assert (
        gzip.decompress((tmp_path / "out.conll.gz").read_bytes()).decode()
        == run("tag", model, stdin=text).stdout
    )
    refused(
        run("tag", model, "-o", "bad.conll", cwd=tmp_path, stdin=text + "x y z too many\n", check=1),
        "<stdin>:",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out.conll.gz"]


def test_tabs_stay_tabs(model: Path) -> None:
    text = column_text(TEST).replace(" ", "\t")
    assert blocks(run("tag", model, stdin=text).stdout, "\t") == blocks(
        run("tag", model, stdin=column_text(TEST)).stdout
    )


def test_line_ends_of_other_systems(model: Path) -> None:
    text = column_text(TEST)
    assert run("tag", model, stdin=text.replace("\n", "\r\n")).stdout == run("tag", model, stdin=text).stdout


def test_empty_input_has_empty_output(model: Path) -> None:
    for nothing in ("", "\n", "\n \n\n"):
        assert run("tag", model, stdin=nothing).stdout == ""
    assert run("tag", model, "--json", stdin="").stdout == ""


def test_confidence_and_marginals(model: Path, crf: fc.ChainCRF, test_corpus: fc.Corpus) -> None:
    probabilities = crf.predict_proba(test_corpus)
    names = crf.classes_.tolist()
    rows = blocks(run("tag", model, "--confidence", "--marginals", stdin=column_text(TEST)).stdout)
    for block, expected in zip(rows, probabilities, strict=True):
        for row, p in zip(block, expected, strict=True):
            assert float(row[4]) == pytest.approx(p[names.index(row[3])], abs=1e-6)
            cells = [cell.rsplit(":", 1) for cell in row[5:]]
            assert [name for name, _ in cells] == names
            assert [float(value) for _, value in cells] == pytest.approx(p.tolist(), abs=1e-6)


def test_k_best_columns(model: Path, crf: fc.ChainCRF, test_corpus: fc.Corpus) -> None:
    rows = blocks(run("tag", model, "--k-best", "3", stdin=column_text(TEST)).stdout)
    for block, paths in zip(rows, crf.k_best(test_corpus, 3), strict=True):
        assert [[row[3 + rank] for row in block] for rank in range(3)] == [labels for labels, _ in paths]


def test_k_best_of_a_short_sequence(model: Path) -> None:
    n_labels = len(fc.load(model).classes_)
    rows = run("tag", model, "--k-best", str(n_labels + 1), stdin="Ada NNP\n").stdout.split()
    assert len(rows) == 2 + n_labels + 1
    assert rows[-1] == "_"


def test_json(model: Path, crf: fc.ChainCRF, test_corpus: fc.Corpus) -> None:
    done = run(
        "tag", model, "--json", "--confidence", "--marginals", "--k-best", "2", stdin=column_text(TEST)
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    labels = crf.predict(test_corpus).tolist()
    assert [record["word"] for record in records] == WORDS
    assert [record["ner"] for record in records] == test_corpus.labels
    assert [record["predicted"] for record in records] == labels
    spans = [fc.schemes.spans(row) for row in labels]
    for record, listed, sure in zip(records, spans, crf.span_probability(test_corpus, spans), strict=True):
        assert [(s["start"], s["end"], s["label"]) for s in record["spans"]] == listed
        assert [s["text"] for s in record["spans"]] == [" ".join(record["word"][a:b]) for a, b, _ in listed]
        assert [s["probability"] for s in record["spans"]] == pytest.approx(sure, abs=1e-6)
    sequence = [math.exp(decoding.value) for decoding in crf.decode(test_corpus)]
    assert [record["probability"] for record in records] == pytest.approx(sequence, abs=1e-6)
    assert all(record["k_best"][0]["labels"] == record["predicted"] for record in records)
    for record in records:
        at_labels = [row[label] for row, label in zip(record["marginals"], record["predicted"])]
        assert at_labels == record["confidence"]


def test_columns_and_k_best_do_not_mix(model: Path) -> None:
    refused(run("tag", model, "--k-best", "2", "--confidence", stdin="Ada NNP\n", check=1), "--json")


@pytest.mark.parametrize(
    "options",
    [
        ("--json",),
        ("--json", "--confidence", "--marginals", "--k-best", "3"),
        ("--confidence", "--marginals"),
        ("--k-best", "3"),
    ],
    ids=" ".join,
)
def test_a_batch_is_encoded_and_scored_once(
    model: Path, crf: fc.ChainCRF, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(crf, monkeypatch)
    run("tag", model, *options, stdin=column_text(TEST))
    assert (counts.encoded, counts.scored) == (1, 1)
    assert counts.computed == (options == ("--json",))  # of potentials that are not kept, one question


@pytest.mark.parametrize("options", [(), ("--json",), ("--json", "--confidence")], ids=" ".join)
def test_a_batch_of_texts_is_encoded_and_scored_once(
    corpora: Path, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And `predict_text` gives the spans of `tag --text`."""
    crf = fc.ChainCRF("word[-1..1]\nedge", optimiser=fc.LBFGS(max_iterations=10))
    crf.fit([{"word": words} for words in WORDS], [[token[2] for token in tokens] for tokens in TEST])
    crf.save(tmp_path / "words.fc")
    lines = [" ".join(words) for words in WORDS]
    spans = crf.predict_text(lines)
    counts = Counts(crf, monkeypatch)
    done = run("tag", tmp_path / "words.fc", "--text", *options, stdin="\n".join(lines) + "\n")
    assert (counts.encoded, counts.scored) == (1, 1)
    if "--confidence" in options:
        shown = [json.loads(line)["spans"] for line in done.stdout.splitlines()]
        assert shown == [
            [{**span._asdict(), "probability": round(span.probability, 6)} for span in row] for row in spans
        ]


def test_raw_text(corpora: Path, tmp_path: Path) -> None:
    model = tmp_path / "words.fc"
    train = corpora / "train.conll"
    run("train", train, *COLUMNS, "--templates", "word[-1..1]", "--tokenizer", "words", "-o", model, "-q")
    lines = ["Ada Lovelace spoke in Zurich.", "", "  Paul slept in New York .  "]
    text = "\n".join(lines) + "\n"
    shown = blocks(run("tag", model, "--text", stdin=text).stdout, "\t")
    assert [[row[0] for row in block] for block in shown] == [
        ["Ada", "Lovelace", "spoke", "in", "Zurich", "."],
        ["Paul", "slept", "in", "New", "York", "."],
    ]
    done = run("tag", model, "--text", "--json", "--confidence", stdin=text)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["text"] for record in records] == lines
    places = [(s["text"], s["label"]) for record in records for s in record["spans"]]
    assert ("Zurich", "LOC") in places
    assert ("New York", "LOC") in places
    for record, line in zip(records, lines):
        assert all(line[s["start"] : s["end"]] == s["text"] for s in record["spans"])


def test_texts_without_tokens(corpora: Path, tmp_path: Path) -> None:
    model = tmp_path / "words.fc"
    run("train", corpora / "train.conll", *COLUMNS, "--templates", "word", "-o", model, "-q")
    assert run("tag", model, "--text", stdin="\n  \n").stdout == ""
    options = ["--json", "--confidence", "--marginals", "--k-best", "2"]
    records = [
        json.loads(line) for line in run("tag", model, "--text", *options, stdin="\n  \n").stdout.splitlines()
    ]
    assert [record["text"] for record in records] == ["", "  "]
    assert all(record["predicted"] == record["spans"] == record["confidence"] == [] for record in records)
    assert all(record["probability"] == 1.0 for record in records)


def test_raw_text_needs_a_model_of_words(model: Path) -> None:
    refused(run("tag", model, "--text", stdin="Ada\n", check=1), "columns word, pos")


def test_jsonl_stays_jsonl(model: Path) -> None:
    given = {"id": 7, "word": ["Ada", "slept"], "pos": ["NNP", "VBD"]}
    done = run("tag", model, "--format", "jsonl", stdin=json.dumps(given) + "\n")
    record = json.loads(done.stdout)
    assert {name: record[name] for name in given} == given
    assert len(record["predicted"]) == 2


def test_conllu_in_the_labels_place(tmp_path: Path) -> None:
    words = ["Ada", "slept", "."]
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_"
    text = "# sent_id = 1\n" + "\n".join(row.format(i + 1, w, f"T{i}") for i, w in enumerate(words)) + "\n\n"
    (tmp_path / "a.conllu").write_text(text)
    run("train", "a.conllu", "--label", "upos", "--templates", "form", "-o", "m.fc", "-q", cwd=tmp_path)
    assert run("tag", "m.fc", "a.conllu", cwd=tmp_path).stdout == text
    refused(run("tag", "m.fc", "a.conllu", "--confidence", cwd=tmp_path, check=1), "conllu", "--json")


def test_attribute_files(tmp_path: Path) -> None:
    text = "A\tw=a\tx:0.5\nB\tw=b\n\n"
    (tmp_path / "a.crfsuite").write_text(text)
    run("train", "a.crfsuite", "--templates", "none", "-o", "m.fc", "-q", cwd=tmp_path)
    assert run("tag", "m.fc", "a.crfsuite", cwd=tmp_path).stdout == text
