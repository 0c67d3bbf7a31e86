"""Type checkers see what users see: the README's code and every public name pass mypy and pyright."""

from __future__ import annotations

import doctest
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import ROOT, snippets

import fieldcraft as fc

CHECKERS = {
    "mypy": ["mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


def code_of(page: Path) -> str:
    """The Python of a page's snippets, prompts and answers removed."""
    texts = [snippet.text for snippet in snippets(page) if snippet.language == "python"]
    parse = doctest.DocTestParser().get_examples
    return "".join("".join(e.source for e in parse(text)) if ">>> " in text else text for text in texts)


@pytest.fixture(params=CHECKERS)
def checker(request: pytest.FixtureRequest) -> list[str]:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    if request.param == "pyright" and shutil.which("node") is None:
        pytest.skip("pyright needs node")
    return [sys.executable, "-m", *CHECKERS[request.param]]


@pytest.mark.slow
def test_what_users_write_passes(checker: list[str], tmp_path: Path) -> None:
    names = "\n".join(f"fc.{name}" for name in fc.__all__)
    files = {"readme.py": code_of(ROOT / "README.md"), "names.py": f"import fieldcraft as fc\n{names}\n"}
    files["loaded.py"] = "import fieldcraft as fc\n\nlabels = fc.load('a.fc').predict([[['a']]])\n"
    assert "fc.ChainCRF" in files["readme.py"]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run([*checker, *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_wrong_name_fails(checker: list[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import fieldcraft as fc\n\nfc.datasets.adresses()\nfc.load(3)\n")
    done = subprocess.run([*checker, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "adresses" in done.stdout
    assert "load" in done.stdout
