"""Every example in the commands' help runs as it stands, in the order in which the commands are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shell import environment, write_corpora

import fieldcraft as fc
from fieldcraft.cli.app import COMMANDS

EXAMPLES = [
    (name, line) for name, function in COMMANDS.items() for line in sys.modules[function.__module__].EXAMPLES
]
# an example of `train` reads what an example of `convert` writes
ORDER = sorted(EXAMPLES, key=lambda pair: pair[0] != "convert")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    write_corpora(made)
    fc.ChainCRF().fit([[["w=a"], ["w=b"]]], [["X", "Y"]]).export(made / "old.crfsuite")
    return made


@pytest.mark.parametrize(("name", "line"), ORDER, ids=[line for _, line in ORDER])
def test_example_runs(name: str, line: str, folder: Path) -> None:
    assert len(line) <= 84, "too long to be copied from a terminal"
    assert f"fieldcraft {name}" in line
    script = f'fieldcraft() {{ "{sys.executable}" -m fieldcraft "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
