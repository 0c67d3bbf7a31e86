"""`convert`: formats and schemes there and back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from shell import COLUMNS, column_text, refused, run, sentences

DATA = sentences(30, seed=4)
TEXT = column_text(DATA)


def test_there_and_back(tmp_path: Path) -> None:
    run("convert", "-", "a.jsonl", *COLUMNS, "--label", "ner", cwd=tmp_path, stdin=TEXT)
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [list(zip(r["word"], r["pos"], r["ner"])) for r in records] == DATA
    assert run("convert", "a.jsonl", "-", cwd=tmp_path).stdout == TEXT


def test_schemes_there_and_back() -> None:
    iobes = run("convert", "-", "-", "--scheme-to", "iobes", stdin=TEXT).stdout
    letters = {line.split()[2][0] for line in iobes.splitlines() if line}
    assert letters == set("BESO")
    back = run("convert", "-", "-", "--scheme-from", "iobes", "--scheme-to", "iob2", stdin=iobes).stdout
    assert back == TEXT


def test_labels_must_follow_the_scheme_that_was_named() -> None:
    done = run("convert", "-", "-", "--scheme-from", "iob2", stdin="a O\nb I-X\n", check=1)
    refused(done, "sequence 0, token 1", "'I-X' where iob2 wants 'B-X'")


def test_columns_are_chosen_and_packed(tmp_path: Path) -> None:
    run("convert", "-", "a.jsonl.gz", "--columns", "word,pos,ner", cwd=tmp_path, stdin=TEXT)
    words = run("convert", "a.jsonl.gz", "-", "--columns", "word,ner", "--to", "columns", cwd=tmp_path).stdout
    assert words.splitlines()[0].split()[:2] == [DATA[0][0][0], DATA[0][0][2]]


def test_conllu_to_columns(tmp_path: Path) -> None:
    row = "1\tRome\t_\tPROPN\t_\t_\t_\t_\t_\t_\n\n"
    out = run("convert", "-", "-", "--from", "conllu", "--to", "columns", "--columns", "form,upos", stdin=row)
    assert out.stdout == "Rome PROPN\n\n"


def test_empty_input() -> None:
    assert run("convert", "-", "-", stdin="").stdout == ""


# -- models ---------------------------------------------------------------------------------------

ATTRIBUTES = "DET\tw=the\tfirst\nNOUN\tw=dog\n\nDET\tw=a\tfirst\nNOUN\tw=cat\n\n"


def crfsuite_model(path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["w=the", "first"], ["w=dog"]], ["DET", "NOUN"])
    trainer.append([["w=a", "first"], ["w=cat"]], ["DET", "NOUN"])
    trainer.train(str(path))


def test_a_model_of_crfsuite_and_back(tmp_path: Path) -> None:
    """Names say nothing about the content."""
    crfsuite_model(tmp_path / "old.conll")
    run("convert", "old.conll", "new.jsonl", cwd=tmp_path)
    run("convert", "new.jsonl", "again.fc", "--to", "crfsuite-model", cwd=tmp_path)
    assert (tmp_path / "again.fc").read_bytes()[:4] == b"lCRF"
    tagged = [
        run("tag", name, "-", cwd=tmp_path, stdin=ATTRIBUTES).stdout
        for name in ("old.conll", "new.jsonl", "again.fc")
    ]
    assert tagged == [ATTRIBUTES] * 3


def test_models_and_corpora_are_not_mixed_up(tmp_path: Path) -> None:
    crfsuite_model(tmp_path / "model")
    (tmp_path / "corpus").write_text(TEXT)
    refused(run("convert", "model", "out", "--to", "jsonl", cwd=tmp_path, check=1), "is a model")
    refused(run("convert", "model", "-", cwd=tmp_path, check=1), "standard output")
    done = run("convert", "corpus", "out", "--to", "crfsuite-model", cwd=tmp_path, check=1)
    refused(done, "corpus is not a model")
    assert not (tmp_path / "out").exists()


def test_a_damaged_model_of_another_toolkit(tmp_path: Path) -> None:
    crfsuite_model(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(content[: len(content) // 2])
    refused(run("tag", "model", "-", cwd=tmp_path, stdin=ATTRIBUTES, check=1), "model of CRFsuite, but")


def test_models_of_crfpp_and_wapiti_tag_their_files(tmp_path: Path) -> None:
    """With the label column or without it, as those tools do."""
    folder = Path(__file__).parents[3] / "shared" / "peer_models"
    if not folder.is_dir():
        pytest.skip(f"there is no folder {folder}")
    text = (folder / "test.txt").read_text()
    without = "\n".join(line.rpartition(" ")[0] for line in text.split("\n"))
    for name in ("crfpp.model", "crfpp.model.txt", "wapiti.model"):
        (tmp_path / name).write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
        expected = (gzip.decompress((folder / f"{name.split('.')[0]}.out.gz").read_bytes())).decode()
        labels = [
            line.split("\t")[3 if "crfpp" in name else 1] for line in expected.split("\n") if "\t" in line
        ]
        labels = [label.rsplit("/", 1)[0] for label in labels]
        for given in (text, without):
            out = run("tag", name, "-", cwd=tmp_path, stdin=given).stdout
            assert [line.split()[-1] for line in out.split("\n") if line] == labels
