"""The examples of docs/templates.md run as they are printed, and the page names everything."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from fieldcraft import features
from fieldcraft.features.named import NAMED
from fieldcraft.features.predicates import PREDICATES

PAGE = Path(__file__).parents[3] / "docs" / "templates.md"
HIDDEN = {"truth", "extract_or_empty", "lower_ascii"}  # what Wapiti's macros become


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 25
    assert found.failed == 0


@pytest.mark.parametrize("name", [*sorted(set(PREDICATES) - HIDDEN), *NAMED])
def test_the_page_names_every_function_and_set(name):
    assert f"`{name}" in PAGE.read_text(encoding="utf-8")


def test_every_public_name_is_there():
    assert all(hasattr(features, name) for name in features.__all__)
