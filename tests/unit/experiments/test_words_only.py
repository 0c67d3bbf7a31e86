"""The search behind the default templates: its size, and that the default is one of its sets."""

from __future__ import annotations

import json
from pathlib import Path

from experiments import words_only

import fieldcraft as fc


def test_at_least_thirty_sets_and_three_variances() -> None:
    for corpus, default, chosen in [
        ("wnut17", "entities-words", "lower, lower affixes"),
        ("ewt", "tagging", "lower, shapes, lower affixes"),
    ]:
        task = words_only.CORPORA[corpus]
        sets = {name: fc.Templates.parse(task.templates(name)) for name in task.sets}
        assert len({str(templates) for templates in sets.values()}) >= 30
        assert set(sets[chosen].names) == set(fc.Templates.named(default).names)
    assert len(set(words_only.VARIANCES)) >= 3


def test_lines_are_written_and_not_trained_again(tmp_path: Path) -> None:
    (tmp_path / "data" / "wnut17").mkdir(parents=True)
    for name in words_only.CORPORA["wnut17"][1:4]:
        (tmp_path / "data" / "wnut17" / name).write_text("in\tO\nRome\tB-LOC\n\n")
    arguments = ["--corpus", "wnut17", "--sets", "simple", "default"]
    for _ in range(2):
        words_only.main([*arguments, "--into", str(tmp_path), "--data", str(tmp_path / "data")])
    rows = [json.loads(line) for line in (tmp_path / "words-only.jsonl").read_text().splitlines()]
    assert [(row["set"], row["variance"]) for row in rows] == [
        *(("simple", variance) for variance in words_only.VARIANCES),
        ("default", None),
    ]
    words_only.main(["--report", "--into", str(tmp_path), "--data", str(tmp_path / "data")])
    assert (
        "- default: default: development F 100.00; test F 100.00" in (tmp_path / "words-only.md").read_text()
    )
