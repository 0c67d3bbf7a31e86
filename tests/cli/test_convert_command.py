"""`convert`: formats and schemes there and back."""

from __future__ import annotations

import json
from pathlib import Path

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
