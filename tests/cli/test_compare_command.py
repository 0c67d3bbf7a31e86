"""`compare`: reads as `score` does, prints what `fc.compare` finds, names lines where sizes differ."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from shell import refused, run

import fieldcraft as fc

LABELS = ["O", "B-X", "I-X", "B-Y"]
Labelling = list[list[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = random.Random(0)
    gold = [[rng.choice(LABELS) for _ in range(rng.randint(1, 8))] for _ in range(70)]
    for name, share in (("gold", 0.0), ("one", 0.3), ("two", 0.2)):
        labels = [[rng.choice(LABELS) if rng.random() < share else x for x in row] for row in gold]
        (tmp_path / name).write_text(as_text(labels))
    return tmp_path


def as_text(labels: Labelling, extra: str = "") -> str:
    return "\n".join("".join(f"word{extra} {label}\n" for label in row) for row in labels)


def labels_in(path: Path) -> Labelling:
    return [
        [line.split()[-1] for line in part.splitlines()] for part in path.read_text().strip().split("\n\n")
    ]


def test_json_is_what_python_finds(folder: Path) -> None:
    shown = json.loads(run("compare", "gold", "one", "two", "--json", "--seed", "3", cwd=folder).stdout)
    gold, one, two = (labels_in(folder / name) for name in ("gold", "one", "two"))
    found = fc.compare(gold, one, two, seed=3, names=("one", "two"))
    assert shown == json.loads(json.dumps({"files": ["gold", "one", "two"], **found.to_dict()}))
    assert run("compare", "gold", "one", "two", "--seed", "3", cwd=folder).stdout == f"{found}\n"


def test_metrics_levels_and_rules(folder: Path) -> None:
    options = ["--metric", "token_accuracy", "--level", "0.9", "--resamples", "50"]
    shown = run("compare", "gold", "one", "two", *options, cwd=folder).stdout
    assert "token_accuracy" in shown
    assert "90 % interval" in shown
    strict = run(
        "compare", "gold", "one", "gold", "--strict", "--scheme", "iob2", "--json", cwd=folder
    ).stdout
    gold, one = labels_in(folder / "gold"), labels_in(folder / "one")
    assert json.loads(strict)["a"] == fc.compare(gold, one, gold, scheme="iob2", mode="strict").a


def test_gold_from_a_tagged_file_and_standard_input(folder: Path) -> None:
    gold, one = (folder / "gold").read_text().splitlines(), (folder / "one").read_text().splitlines()
    tagged = "\n".join(f"{g} {o.split()[-1]}" if g else "" for g, o in zip(gold, one)) + "\n"
    (folder / "tagged").write_text(tagged)
    plain = compared("gold", "one", "two", folder)
    assert compared("tagged", "tagged", "two", folder, "--gold", "-2") == {
        **plain,
        "names": ["tagged", "two"],
    }
    two = (folder / "two").read_text()
    assert compared("gold", "one", "-", folder, stdin=two) == {**plain, "names": ["one", "<stdin>"]}


def compared(gold: str, one: str, two: str, folder: Path, *options: str, stdin: str = "") -> dict[str, Any]:
    shown = run("compare", gold, one, two, "--json", *options, cwd=folder, stdin=stdin).stdout
    return {name: value for name, value in json.loads(shown).items() if name != "files"}


def test_the_verdict_is_in_words_and_under_the_names_of_the_files(folder: Path) -> None:
    better = run("compare", "gold", "one", "gold", cwd=folder).stdout.splitlines()[-1]
    assert better.startswith("gold is better than one by ")
    assert "95 % interval +" in better
    assert better.endswith(": more than chance.")
    assert "have the same span_f" in run("compare", "gold", "one", "./one", cwd=folder).stdout


def test_what_is_refused(folder: Path) -> None:
    lines = (folder / "two").read_text().split("\n\n")
    (folder / "short").write_text("\n\n".join(lines[:-1]) + "\n")
    lines[3] += "\nword O"
    (folder / "long").write_text("\n\n\n".join(lines))
    at = sum(part.count("\n") + 3 for part in lines[:3]) + 1
    gold_at = sum(part.count("\n") + 2 for part in lines[:3]) + 1
    n = lines[3].count("\n") + 1
    done = run("compare", "gold", "one", "long", cwd=folder, check=1)
    refused(done, f"long:{at}: sequence 3 has {n} tokens where gold:{gold_at} has {n - 1} tokens")
    refused(
        run("compare", "gold", "short", "two", cwd=folder, check=1), "short: sequence 69 has no tokens where"
    )
    refused(run("compare", "gold", "-", "-", cwd=folder, check=1), "standard input can be read once")
    refused(run("compare", "gold", "absent", "two", cwd=folder, check=1), "absent")
    refused(run("compare", "gold", "one", "two", "--strict", cwd=folder, check=1), "go together")
    refused(
        run("compare", "gold", "one", "two", "--metric", "span_macro_f", cwd=folder, check=1), "span_macro_f"
    )
    assert run("compare", "gold", "one", cwd=folder, check=2).stdout == ""
