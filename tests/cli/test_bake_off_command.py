"""`bake-off`: entries, tables, files, and what is refused before anything is trained."""

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

SMALL = [*COLUMNS, "--templates", "word[-1..1]\nedge", "-j", "1"]


def bake(corpora: Path, *options: str | Path, check: int = 0) -> subprocess.CompletedProcess[str]:
    return run(
        "bake-off", corpora / "train.conll", "--dev", corpora / "dev.conll", *SMALL, *options, check=check
    )


def test_all_optimisers(corpora: Path, tmp_path: Path) -> None:
    files = ["--json", tmp_path / "all.json", "--markdown", tmp_path / "all.md"]
    done = bake(corpora, "--epochs", "3", *files)
    facts = json.loads((tmp_path / "all.json").read_text())
    from fieldcraft.optimisers import TABLE

    assert {row["entry"] for row in facts["results"]} == {*TABLE} - {"em"}
    assert [row["entry"] for row in facts["results"] if row["error"]] == []
    assert facts["metric"] == "span_f"
    scores = [row["score"] for row in facts["results"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.9
    assert all(row["iterations"] <= 3 for row in facts["results"])
    assert (tmp_path / "all.md").read_text().startswith("| entry | objective | prior | value |")
    assert done.stdout.splitlines()[0].split()[:3] == ["entry", "objective", "prior"]
    assert "read " in done.stderr
    assert "lbfgs:  training" in done.stderr


def test_chosen_entries(corpora: Path) -> None:
    chosen = [
        "--entry",
        "margin/smo:max_iterations=1",
        "--optimisers",
        "sgd, arow",
        "--prior",
        "gaussian:variance=2",
    ]
    done = bake(corpora, *chosen, "--epochs", "2", "--json", "-", "--quiet", "--seed", "5")
    rows = {row["entry"]: row for row in json.loads(done.stdout)["results"]}
    assert sorted(rows) == ["arow", "margin/smo:max_iterations=1", "sgd"]
    assert rows["sgd"]["prior"] == "gaussian:variance=2"
    assert rows["sgd"]["optimiser"] == "sgd:max_iterations=2,seed=5"
    assert rows["arow"]["prior"] == "none"
    assert rows["margin/smo:max_iterations=1"]["iterations"] == 1
    assert [line for line in done.stderr.splitlines() if not line.startswith("warning: ")] == []


def test_partial_labels(corpora: Path, tmp_path: Path) -> None:
    text = (corpora / "train.conll").read_text().replace("VBD O\n", "VBD _\n")
    (tmp_path / "partial.conll").write_text(text)
    options = [*SMALL, "--partial", "--optimisers", "em,lbfgs", "--epochs", "3", "--json", "-", "-q"]
    dev = corpora / "dev.conll"
    done = run("bake-off", tmp_path / "partial.conll", "--dev", dev, *options)
    rows = json.loads(done.stdout)["results"]
    assert [(row["objective"], row["error"]) for row in rows] == [("marginal_likelihood", None)] * 2


def test_what_is_refused(corpora: Path, tmp_path: Path) -> None:
    for options, part in (
        (["--entry", "newton"], "'newton' is not one of"),
        (["--entry", "lbfgs/laplacian"], "absolute-value part"),
        (["--prior", "gauss"], "'gauss' is not one of"),
        (["--json", tmp_path / "absent" / "a.json"], "does not exist"),
    ):
        done = bake(corpora, *options, "--quiet", check=1)
        refused(done, part)
    assert run("bake-off", corpora / "train.conll", check=2).stdout == ""


def test_plot(corpora: Path, tmp_path: Path) -> None:
    options = ["--optimisers", "lbfgs,arow", "--epochs", "2", "--plot", tmp_path / "a.png", "-q"]
    if importlib.util.find_spec("matplotlib") is None:
        refused(bake(corpora, *options, check=1), "plots need matplotlib")
        return
    bake(corpora, *options)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.alone
def test_interrupt_goes_to_the_table(corpora: Path) -> None:
    endless = ["--entry", "sgd:max_iterations=1000000,objective_tolerance=-1", "--entry", "lbfgs"]
    files = [str(corpora / "train.conll"), "--dev", str(corpora / "dev.conll")]
    process = subprocess.Popen(
        [*COMMAND, "bake-off", *files, *SMALL, *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while "training" not in process.stderr.readline():
        pass
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the command and its copies
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in out
    assert "lbfgs" not in out
