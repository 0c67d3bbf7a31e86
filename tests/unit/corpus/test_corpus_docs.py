"""The examples of docs/corpora.md and of the docstrings run as they are printed."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "corpora.md"
MODULES = ["collection", "reading", "schemes", "sequences", "writing"]


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 25
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(f"fieldcraft.corpus.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
