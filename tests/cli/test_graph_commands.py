"""The commands on factor graphs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import run

from laws.graph_cases import CASES, graph_of, grid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    grid(3, 3, 2).write(tmp_path / "g.uai")
    grid(6, 6, 2, seed=1, coupling=8.0).write(tmp_path / "wide.uai")
    (tmp_path / "seen.evid").write_text("1 4 1\n")
    return tmp_path


def test_infer(folder: Path) -> None:
    expected = grid(3, 3, 2).infer()
    found = json.loads(run("graph", "infer", "g.uai", "--json", cwd=folder).stdout)
    assert found["log_partition"] == pytest.approx(expected.log_partition)
    assert (found["bound"], found["converged"]) == ("exact", True)
    assert found["variables"][3] == pytest.approx(expected.variables[3].tolist())
    text = run("graph", "infer", "g.uai", "--evidence", "seen.evid", cwd=folder).stdout
    assert "(exact)" in text
    assert "4\t0.000000\t1.000000" in text
    drawn = run("graph", "infer", "g.uai", "--method", "gibbs", "--seed", "3", "--json", cwd=folder).stdout
    assert json.loads(drawn)["log_partition"] is None


def test_infer_warns_where_it_does_not_converge(folder: Path) -> None:
    options = ["--method", "propagation", "--schedule", "flooding", "--max-iterations", "2", "--json"]
    done = run("graph", "infer", "wide.uai", *options, cwd=folder)
    assert json.loads(done.stdout)["converged"] is False
    assert "did not converge in 2 iterations" in done.stderr


def test_decode(folder: Path) -> None:
    best = grid(3, 3, 2).decode()
    found = json.loads(run("graph", "decode", "g.uai", "--json", cwd=folder).stdout)
    assert found["assignment"] == best.assignment.tolist()
    assert (found["optimal"], found["gap"]) == (True, 0.0)
    text = run("graph", "decode", "g.uai", "--method", "icm", cwd=folder).stdout
    assert "below the best" in text or "optimal" in text


def test_show(folder: Path) -> None:
    shown = run("graph", "show", "g.uai", "-o", "g.svg", cwd=folder).stdout
    assert "9 variables with 2 states" in shown
    assert "<svg" in (folder / "g.svg").read_text()
    assert json.loads(run("graph", "show", "g.uai", "--json", cwd=folder).stdout)["forest"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infer", "none.uai"], "none.uai"),
        (["infer", "g.uai", "--method", "junction_tree", "--memory", "16"], "too wide"),
        (["infer", "g.uai", "--method", "mean_field", "--schedule", "tree"], "has no option 'schedule'"),
        (["decode", "g.uai", "--method", "cuts"], "is not submodular"),
        (["show", "g.uai", "-o", "g.uai"], "would be destroyed"),
        (["show", "seen.evid"], "MARKOV or BAYES"),
    ],
)
def test_refusals(folder: Path, arguments: list[str], message: str) -> None:
    done = run("graph", *arguments, cwd=folder, check=1)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_forbidden_graph(folder: Path) -> None:
    graph_of(CASES[-1]).write(folder / "f.uai")
    assert json.loads(run("graph", "decode", "f.uai", "--json", cwd=folder).stdout)["optimal"]
