"""Tags and phrases: settings are chosen without the test file, curves use them, results are kept."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from experiments import factorial
from experiments.factorial_report import scored, write

NAMES = ["cascaded", "jackknife", "joint", "two_stages"]


def sentences(n: int, seed: int) -> str:
    """Synthetic: some nouns are verbs elsewhere."""
    rng, lines = random.Random(seed), []
    for _ in range(n):
        noun, verb = rng.choice(["dog", "walks", "cat"]), rng.choice(["walks", "sees", "runs"])
        lines += ["the DT B-NP", f"{noun} NN I-NP", f"{verb} VB B-VP", "a DT B-NP", "man NN I-NP", ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "conll2000").mkdir()
    with gzip.open(tmp_path / "conll2000" / "train.txt.gz", "wt") as out:
        out.write(sentences(30, 0))
    monkeypatch.setattr(factorial, "CHOOSING", (10,))
    monkeypatch.setattr(factorial, "DEVELOPMENT", 10)
    monkeypatch.setattr(factorial, "GRID", {name: rows[:2] for name, rows in factorial.GRID.items()})
    factorial.read.cache_clear()
    return tmp_path


def test_only_lines_with_the_chosen_settings_stand_in_the_curve(tmp_path: Path) -> None:
    archive = factorial.Archive(tmp_path / "results.jsonl")
    for variance, f in ((1.0, 80.0), (3.0, 82.0)):
        line = {
            "sentences": 250,
            "model": "cascaded",
            "settings": {"phrases": variance},
            "tags": None,
            "f": f,
        }
        archive.add(on="development", **line)
        archive.add(on="test", **{**line, "f": f + 1})
    chosen, earlier = scored(archive)
    assert [row["f"] for row in chosen.values()] == [83.0]
    assert [row["f"] for row in earlier] == [81.0]


def test_settings_curves_and_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = folder / "results.jsonl"
    archive = factorial.Archive(path)
    factorial.choose(factorial.read(folder, "train.txt.gz"), NAMES, archive, 1)  # there is no test file yet
    rows = archive.find(on="development")
    assert len(rows) == 3 + 2 * len(NAMES)
    assert archive.best("joint", 20) == max(archive.find(model="joint"), key=lambda row: row["f"])["settings"]
    (folder / "conll2000" / "test.txt").write_text(sentences(5, 1))
    factorial.curve(folder, [12], NAMES, archive, 1)
    found: dict[str, Any] = {row["model"]: row for row in archive.find(on="test")}
    assert list(found) == NAMES
    assert min(row["f"] for row in found.values()) > 90
    capsys.readouterr()
    again = factorial.Archive(path)
    assert again.rows == archive.rows == [json.loads(line) for line in path.read_text().splitlines()]
    factorial.choose(factorial.read(folder, "train.txt.gz"), NAMES, again, 1)
    factorial.curve(folder, [12], NAMES, again, 1)
    assert capsys.readouterr().out == ""  # nothing was run again
    text = write(again, folder)
    assert text == (folder / "factorial.md").read_text()
    assert f"{found['two_stages']['f']:.2f}" in text
    assert "| 12 | joint, two stages | cascaded | +0.00 | +0.00 to +0.00 | 1 |" in text
    assert (folder / "factorial.png").stat().st_size > 1000
