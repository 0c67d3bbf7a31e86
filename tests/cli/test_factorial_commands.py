"""`train --structure factorial`, `tag` and `evaluate` with several label columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.shell import run

ROWS = "the D B\ndog N I\nbarks V O\n\na D B\ncat N I\nsleeps V O\n\n"
TRAIN = [
    "train",
    "t.conll",
    "--structure",
    "factorial",
    "--columns",
    "word,pos,chunk",
    "--label",
    "pos,chunk",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.conll").write_text(ROWS, encoding="utf-8")
    told = run(*TRAIN, "--templates", "word", "--dev", "t.conll", "-o", "both.fc", cwd=tmp_path)
    assert "column pos:" in told.stderr
    return tmp_path


def test_several_columns_from_files_to_scores(folder: Path) -> None:
    assert run("tag", "both.fc", "t.conll", cwd=folder).stdout.splitlines()[0] == "the D B D B"
    record = json.loads(run("tag", "both.fc", "t.conll", "--json", cwd=folder).stdout.splitlines()[0])
    assert record["predicted"] == {"pos": ["D", "N", "V"], "chunk": ["B", "I", "O"]}
    scores = run("evaluate", "both.fc", "t.conll", cwd=folder).stdout
    assert scores.count("token accuracy: 100.00%") == 2
    facts = json.loads(run("evaluate", "both.fc", "t.conll", "--json", cwd=folder).stdout)
    assert facts["chunk"]["token_accuracy"] == 1.0


def test_what_is_for_one_column_is_refused(folder: Path) -> None:
    refused = run("tag", "both.fc", "t.conll", "--confidence", cwd=folder, check=None)
    assert "--confidence is for models of one label column" in refused.stderr
    refused = run(*TRAIN, "--templates", "word", "--metric", "span_f", "-o", "x.fc", cwd=folder, check=None)
    assert "--metric is for one label column" in refused.stderr
    alone = run(
        "train",
        "t.conll",
        "--structure",
        "factorial",
        "--templates",
        "word",
        "-o",
        "x.fc",
        cwd=folder,
        check=None,
    )
    assert "give a dict column -> labels" in alone.stderr
