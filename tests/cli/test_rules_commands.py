"""`--states` and `--constraints` in train and tag."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import run

import fieldcraft as fc


@pytest.fixture
def addresses(tmp_path: Path) -> Path:
    """Synthetic addresses, and rules that a free model breaks."""
    fc.write(fc.datasets.addresses(300, seed=2), tmp_path / "train.conll")
    fc.write(fc.datasets.addresses(120, seed=1), tmp_path / "test.conll")
    (tmp_path / "rules.txt").write_text("at_most 1 city  # one\nforbidden O I-city\n", encoding="utf-8")
    return tmp_path


def cities(line: str) -> int:
    return sum(span["label"] == "city" for span in json.loads(line)["spans"])


def test_rules_of_a_file_and_of_a_model(addresses: Path) -> None:
    train = [
        "train",
        str(addresses / "train.conll"),
        "--templates",
        "c0",
        "--max-iterations",
        "15",
        "--quiet",
    ]
    run(*train, "-o", str(addresses / "free.fc"))
    rules, test = str(addresses / "rules.txt"), str(addresses / "test.conll")
    free = run("tag", str(addresses / "free.fc"), test, "--json")
    bound = run("tag", str(addresses / "free.fc"), test, "--json", "--constraints", rules)
    assert max(map(cities, free.stdout.splitlines())) > 1
    lines = bound.stdout.splitlines()
    assert max(map(cities, lines)) == 1
    assert all(json.loads(line)["optimal"] is True and json.loads(line)["gap"] == 0.0 for line in lines)
    run(*train, "-o", str(addresses / "own.fc"), "--constraints", rules, "--states", "ngrams:2+observed")
    tagged = run("tag", str(addresses / "own.fc"), test, "--json")
    assert max(map(cities, tagged.stdout.splitlines())) <= 1


def test_sequences_that_cannot_obey_are_counted(addresses: Path) -> None:
    (addresses / "rules.txt").write_text("forced 3 O\nforced 3 B-city\n", encoding="utf-8")
    train = ["train", str(addresses / "train.conll"), "--templates", "c0", "--max-iterations", "5", "--quiet"]
    run(*train, "-o", str(addresses / "free.fc"))
    model, test, rules = (str(addresses / name) for name in ("free.fc", "test.conll", "rules.txt"))
    free, bound = run("tag", model, test), run("tag", model, test, "--constraints", rules)
    assert bound.stdout == free.stdout
    assert "120 sequences: no labelling obeys" in bound.stderr
    assert "'forced 3 O'; 'forced 3 B-city'" in bound.stderr


@pytest.mark.parametrize(
    ("text", "message"), [("at_most\n", "rules.txt:1: "), ("# none\n", "has no constraint")]
)
def test_files_that_are_no_rules(addresses: Path, text: str, message: str) -> None:
    (addresses / "rules.txt").write_text(text, encoding="utf-8")
    rules, train = str(addresses / "rules.txt"), str(addresses / "train.conll")
    failed = run(
        "train", train, "--templates", "c0", "-o", str(addresses / "m.fc"), "--constraints", rules, check=1
    )
    assert message in failed.stderr
