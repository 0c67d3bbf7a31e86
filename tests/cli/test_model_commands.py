"""`evaluate`, `inspect`, `explain`, `demo`: the same answers as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import COLUMNS, refused, run

import fieldcraft as fc


def test_evaluate_equals_tag_and_score(model: Path, corpora: Path) -> None:
    test = corpora / "test.conll"
    shown = run("evaluate", model, test).stdout
    assert shown == run("score", stdin=run("tag", model, test).stdout).stdout
    assert shown.startswith("processed ")
    assert "sequence accuracy" in shown


def test_evaluate_as_json(model: Path, corpora: Path) -> None:
    test = fc.read(corpora / "test.conll", columns="word pos ner", label="ner")
    done = run("evaluate", model, corpora / "test.conll", "--json", "--metric", "auto")
    facts = json.loads(done.stdout)
    predicted = list(fc.load(model).predict(test))
    f = fc.metrics.span_scores(test.labels, predicted).micro.f
    assert facts["metric"] == {"name": "span_f", "value": pytest.approx(f)}
    assert facts["token_accuracy"] == fc.metrics.token_accuracy(test.labels, predicted)


def test_inspect(model: Path, tmp_path: Path) -> None:
    crf = fc.load(model)
    assert run("inspect", model, "--top", "3").stdout == crf.inspect(top=3).text(colour=False) + "\n"
    facts = json.loads(run("inspect", model, "--label", "B-LOC", "--json").stdout)
    assert facts == json.loads(crf.inspect(label="B-LOC").to_json())
    done = run("inspect", model, "--attribute", "word=*", "--html", "page.html", cwd=tmp_path)
    assert done.stdout == ""
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused(run("inspect", model, "--label", "nonsense", check=1), "nonsense")


def test_explain(model: Path, corpora: Path) -> None:
    test = fc.read(corpora / "test.conll", columns="word pos ner", label="ner")
    wanted = fc.load(model).explain(test[2], token=0)
    file = corpora / "test.conll"
    done = run("explain", model, file, "--sequence", "2", "--token", "0")
    assert done.stdout == wanted.text(colour=False) + "\n"
    facts = json.loads(run("explain", model, file, "--sequence", "2", "--token", "0", "--json").stdout)
    assert facts == json.loads(wanted.to_json())
    refused(run("explain", model, file, "--sequence", "4000", check=1), "no sequence 4000")
    refused(run("explain", model, file, "--token", "400", check=1), "400")


def test_explain_a_text(corpora: Path, tmp_path: Path) -> None:
    model = tmp_path / "words.fc"
    run("train", corpora / "train.conll", *COLUMNS, "--templates", "word[-1..1]", "-o", model, "-q")
    shown = run("explain", model, "--text", "--sequence", "1", stdin="Hello\nAda spoke in Zurich.\n").stdout
    assert "Zurich" in shown


def test_demo() -> None:
    shown = run("demo", "--jobs", "1").stdout
    assert [
        words for words in ("no address in it is real", "all fields", "postcode") if words not in shown
    ] == []
