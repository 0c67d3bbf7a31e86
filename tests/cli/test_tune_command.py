"""`tune`: rows, the model, going on from results, and what is refused before anything is trained."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from shell import COLUMNS, COMMAND, environment, refused, run

import fieldcraft as fc
from fieldcraft.evaluation.metrics import resolve_metric

SMALL = [*COLUMNS, "--templates", "word[-1..1]\nedge", "-j", "1"]
OVER = ["--over", "variance=0.01..10", "--points", "4"]


def tune(corpora: Path, *options: str | Path, check: int = 0) -> subprocess.CompletedProcess[str]:
    return run("tune", corpora / "train.conll", "--dev", corpora / "dev.conll", *SMALL, *options, check=check)


def test_the_best_model_is_written_and_a_second_run_goes_on(corpora: Path, tmp_path: Path) -> None:
    model = tmp_path / "best.fc"
    done = tune(corpora, *OVER, "-o", model)
    head, *rows = map(json.loads, (tmp_path / "best.fc.jsonl").read_text().splitlines())
    assert head["over"] == {"prior__variance": "Between(first=0.01, last=10)"}
    assert [row["settings"]["prior__variance"] for row in rows] == pytest.approx([0.01, 0.1, 1.0, 10.0])
    best = max(rows, key=lambda row: row["score"])
    crf = fc.load(model)
    assert crf.prior.variance == best["settings"]["prior__variance"]
    corpus = fc.read(corpora / "dev.conll", columns=["word", "pos", "ner"], label="ner")
    score = resolve_metric("span_f", corpus.labels)
    assert score(corpus.labels, list(crf.predict(corpus))) == pytest.approx(best["score"])
    assert done.stdout.splitlines()[0].split()[:2] == ["settings", "score"]
    assert "variance=0.01:  training" in done.stderr
    weights = model.read_bytes()
    again = tune(corpora, *OVER, "-o", model)
    assert ":  training" not in again.stderr
    assert again.stdout == done.stdout
    assert model.read_bytes() == weights
    assert run("tag", model, corpora / "test.conll").stdout


def test_other_methods_and_dimensions(corpora: Path, tmp_path: Path) -> None:
    options = ["--method", "golden", "--points", "3", "--prior", "laplacian", "--over", "scale=0.1..10", "-q"]
    done = tune(corpora, *options, "--results", tmp_path / "rows.jsonl")
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4
    assert [line for line in done.stderr.splitlines() if not line.startswith("warning: ")] == []
    done = tune(corpora, "--over", "templates=word,pos", "--over", "variance=1,2", "-q")
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:5]] == [
        ["templates=word", "variance=1"],
        ["templates=word", "variance=2"],
        ["templates=pos", "variance=1"],
        ["templates=pos", "variance=2"],
    ]


def test_evidence_needs_no_held_out_data(corpora: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.fc"
    train = corpora / "train.conll"
    done = run("tune", train, *SMALL, "--method", "evidence", "--points", "3", "-o", model)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["variance", "determined", "value", "iterations", "seconds"]
    assert fc.load(model).prior.variance == pytest.approx(float(rows[-3][0]), rel=1e-3)
    assert not (tmp_path / "m.fc.jsonl").exists()
    assert "score" in tune(corpora, "--method", "evidence", "--points", "1").stdout
    for options, part in (([*OVER, "--method", "evidence"], "leave out --over"), (OVER, "--dev is missing")):
        assert part in run("tune", train, *SMALL, *options, check=2).stderr


def test_what_is_refused(corpora: Path, tmp_path: Path) -> None:
    for options, part in (
        (["--over", "variance"], "NAME=FIRST..LAST"),
        (["--over", "variance=1..1"], "both ends"),
        (["--over", "variance=-1..1"], "must be greater than 0"),
        (["--over", "varience=1..2"], "'varience' cannot be searched over"),
        (["--over", "scale=1..2"], "'scale' cannot be searched over"),
        (["--over", "variance=a..b"], "finite"),
        ([*OVER, "--over", "mean=0..1", "--method", "golden"], "one range alone"),
        ([*OVER, "-o", tmp_path / "absent" / "a.fc"], "does not exist"),
    ):
        refused(tune(corpora, *options, "--quiet", check=1), part)
    assert tune(corpora, check=2).stdout == ""
    assert tune(corpora, *OVER, "--method", "newton", check=2).stdout == ""
    assert run("tune", corpora / "train.conll", *OVER, check=2).stdout == ""  # nothing held out


def test_results_of_another_search(corpora: Path, tmp_path: Path) -> None:
    kept = ["--results", tmp_path / "rows.jsonl", "-q"]
    tune(corpora, "--over", "variance=1,2", *kept)
    refused(tune(corpora, "--over", "variance=1,3", *kept, check=1), "another search")


def test_plot(corpora: Path, tmp_path: Path) -> None:
    options = [*OVER, "--plot", tmp_path / "a.png", "-q"]
    if importlib.util.find_spec("matplotlib") is None:
        refused(tune(corpora, *options, check=1), "plots need matplotlib")
        return
    tune(corpora, *options)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.alone
def test_interrupt_leaves_rows_and_the_best_model(corpora: Path, tmp_path: Path) -> None:
    files = [str(corpora / "train.conll"), "--dev", str(corpora / "dev.conll")]
    endless = ["--over", "variance=0.001..1000", "--points", "100000", "-o", str(tmp_path / "best.fc")]
    process = subprocess.Popen(
        [*COMMAND, "tune", *files, *SMALL, *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    rows = tmp_path / "best.fc.jsonl"
    while not rows.exists() or len(rows.read_text().splitlines()) < 4:
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    finished = len(rows.read_text().splitlines()) - 1
    assert len([line for line in out.splitlines() if line.startswith("variance=")]) == finished >= 3
    assert fc.load(tmp_path / "best.fc").classes_.tolist()
