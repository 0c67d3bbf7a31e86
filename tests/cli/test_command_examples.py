"""Every example in the commands' help runs as it stands, in the order in which the commands are used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from shell import shell, write_corpora

import fieldcraft as fc
from fieldcraft.cli.app import COMMANDS

EXAMPLES = [
    (name, line) for name, function in COMMANDS.items() for line in sys.modules[function.__module__].EXAMPLES
]
# an example of `train` reads what an example of `convert` writes, those of pools read models
ORDER = sorted(EXAMPLES, key=lambda pair: (pair[0] != "convert", pair[0].startswith("pool")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    write_corpora(made)
    fc.ChainCRF().fit([[["w=a"], ["w=b"]]], [["X", "Y"]]).export(made / "old.crfsuite")
    graph = fc.FactorGraph([2, 3, 2])
    graph.add(scope=[[0, 1]], table=[[[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]]])
    graph.add(scope=[[1, 2]], table=[[[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]])
    graph.write(made / "model.uai")
    (made / "seen.evid").write_text("1 0 1\n")
    papers = ["p1,on law,law,law", "p2,more law,law,", "p3,on art,,", "p4,art,art,art"]  # synthetic
    (made / "papers.csv").write_text("\n".join(["id,title,topic,known", *papers]))
    (made / "cites.csv").write_text("source,target\np1,p2\np4,p3\n")
    return made


@pytest.mark.parametrize(("name", "line"), ORDER, ids=[line for _, line in ORDER])
def test_example_runs(name: str, line: str, folder: Path) -> None:
    assert len(line) <= 84, "too long to be copied from a terminal"
    assert f"fieldcraft {name}" in line
    done = shell(line, folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
