"""`score` prints what conlleval prints, and counts as the oracle counts."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from shell import refused, run

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def labelled(seed: int) -> list[list[tuple[str, str]]]:
    """Random gold and predicted labels, ill-formed ones among them."""
    rng = random.Random(seed)
    return [[(rng.choice(LABELS), rng.choice(LABELS)) for _ in range(rng.randint(1, 8))] for _ in range(60)]


def as_text(pairs: list[list[tuple[str, str]]], separator: str = " ") -> str:
    lines = ["\n".join(separator.join(["w", *pair]) for pair in sequence) + "\n" for sequence in pairs]
    return "\n".join(lines)


def spans(labels: list[str]) -> set[tuple[int, int, str]]:
    """conlleval's reading: a tag opens a span unless it is I after the same type."""
    found, start = set(), 0
    for t, label in enumerate([*labels, "O"]):
        before = labels[t - 1] if t else "O"
        goes_on = label[:1] == "I" and before != "O" and before[1:] == label[1:]
        if before != "O" and not goes_on:
            found.add((start, t, before[2:]))
        if label != "O" and not goes_on:
            start = t
    return found


@pytest.mark.parametrize("seed", range(3))
def test_table_has_the_oracles_counts(seed: int) -> None:
    pairs = labelled(seed)
    gold = {(i, *s) for i, q in enumerate(pairs) for s in spans([g for g, _ in q])}
    found = {(i, *s) for i, q in enumerate(pairs) for s in spans([p for _, p in q])}
    tokens = sum(map(len, pairs))
    right = sum(g == p for q in pairs for g, p in q)
    correct = len(gold & found)
    precision, recall = 100 * correct / len(found), 100 * correct / len(gold)
    lines = run("score", stdin=as_text(pairs)).stdout.splitlines()
    assert lines[0] == (
        f"processed {tokens} tokens with {len(gold)} phrases; "
        f"found: {len(found)} phrases; correct: {correct}."
    )
    f = 2 * precision * recall / (precision + recall)
    assert lines[1] == (
        f"accuracy: {100 * right / tokens:6.2f}%; precision: {precision:6.2f}%; "
        f"recall: {recall:6.2f}%; FB1: {f:6.2f}"
    )
    assert [line.split(":")[0] for line in lines[2:4]] == [f"{'X':>17}", f"{'Y':>17}"]


def test_json_and_the_balance_of_f() -> None:
    done = run("score", "--json", "--alpha", "1", "--metric", "span_recall", stdin=as_text(labelled(0)))
    facts = json.loads(done.stdout)
    assert facts["f_alpha"] == {"alpha": 1.0, "f": pytest.approx(facts["spans"]["micro"]["precision"])}
    assert facts["metric"] == {"name": "span_recall", "value": facts["spans"]["micro"]["recall"]}


@pytest.mark.parametrize(
    ("separator", "options"), [("\t", []), (",", ["--delimiter", ","]), (" ", ["-d", "blank"])]
)
def test_delimiters(separator: str, options: list[str]) -> None:
    plain = run("score", stdin=as_text(labelled(1))).stdout
    assert run("score", *options, stdin=as_text(labelled(1), separator)).stdout == plain


def test_columns_by_position(tmp_path: Path) -> None:
    swapped = "".join(f"{p} w {g}\n" for p, g in [("B-X", "O"), ("O", "O"), ("B-X", "B-X")])
    (tmp_path / "a.txt").write_text(swapped)
    shown = run("score", "a.txt", "--gold", "2", "--predicted", "0", cwd=tmp_path).stdout
    assert "3 tokens with 1 phrases; found: 2 phrases; correct: 1." in shown


def test_strict_and_raw() -> None:
    text = "w I-X I-X\nw O B-X\n"
    assert "with 0 phrases; found: 1" in run("score", "--strict", "--scheme", "iob2", stdin=text).stdout
    assert "with 1 phrases; found: 2" in run("score", "--raw", stdin=text).stdout
    refused(run("score", "--strict", stdin=text, check=1), "--strict and --scheme go together")


def test_labels_that_are_no_scheme_have_accuracies() -> None:
    lines = run("score", stdin="a NN NN\nb VB NN\n").stdout.splitlines()
    assert lines[1].split() == ["NN", "50.00", "100.00", "66.67", "1", "2", "1"]
    assert lines[2].split() == ["VB", "0.00", "0.00", "0.00", "1", "0", "0"]
    assert lines[-1] == "token accuracy:  50.00% of 2; sequence accuracy:   0.00% of 1"


def test_what_is_refused() -> None:
    refused(run("score", stdin="", check=1), "<stdin>:1: no sequence was found")
    refused(run("score", stdin="O\nO\n", check=1), "is not one of 1 columns")
    refused(run("score", stdin="a O O\nb O\n", check=1), "<stdin>:2: 2 columns where 3 were expected")
    refused(run("score", "--gold", "-1", stdin="a O O\n", check=1), "name the same column")
