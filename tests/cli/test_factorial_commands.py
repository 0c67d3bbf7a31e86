"""`train --structure factorial`, `tag` and `evaluate` with several label columns."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell

ROWS = "the D B\ndog N I\nbarks V O\n\na D B\ncat N I\nsleeps V O\n\n"
TRAIN = ["train", "t.conll", "--structure", "factorial", "--columns", "word,pos,chunk", "--label", "pos,chunk"]


def test_several_columns_from_files_to_scores(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "t.conll").write_text(ROWS)
    told = shell(*TRAIN, "--templates", "word", "--dev", "t.conll", "-o", "both.fc")
    assert told.code == 0
    assert "column pos:" in told.err
    assert "5 labels" not in told.err.splitlines()[0]
    assert shell("tag", "both.fc", "t.conll").out.splitlines()[0] == "the D B D B"
    record = json.loads(shell("tag", "both.fc", "t.conll", "--json").out.splitlines()[0])
    assert record["predicted"] == {"pos": ["D", "N", "V"], "chunk": ["B", "I", "O"]}
    scores = shell("evaluate", "both.fc", "t.conll")
    assert scores.out.count("token accuracy: 100.00%") == 2
    facts = json.loads(shell("evaluate", "both.fc", "t.conll", "--json").out)
    assert facts["chunk"]["token_accuracy"] == 1.0


def test_what_is_for_one_column_is_refused(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "t.conll").write_text(ROWS)
    assert shell(*TRAIN, "--templates", "word", "-o", "both.fc").code == 0
    refused = shell("tag", "both.fc", "t.conll", "--confidence")
    assert refused.code == 2
    assert "--confidence is for models of one label column" in refused.err
    refused = shell(*TRAIN, "--templates", "word", "--metric", "span_f", "-o", "other.fc")
    assert "--metric is for one label column" in refused.err
    alone = shell("train", "t.conll", "--structure", "factorial", "--templates", "word", "-o", "other.fc")
    assert "give a dict column -> labels" in alone.err
