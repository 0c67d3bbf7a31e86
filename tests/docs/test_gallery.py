"""The notebooks of the gallery run and print what they are stored with; none prints times or paths."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from snippets import ROOT

pytestmark = pytest.mark.slow
GALLERY = ROOT / "docs" / "gallery"
BOOKS = sorted(GALLERY.glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
UNWANTED = re.compile(r"\b0x[0-9a-f]{6,}|/(?:home|root|tmp|usr|work)/|\d (?:s|ms|seconds)\b|Traceback")


def texts(notebook: Any) -> list[str]:
    """What the cells print and return."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [o.text if o.output_type == "stream" else o.data["text/plain"] for o in outputs]


def test_there_are_six() -> None:
    assert len(BOOKS) == 6


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_is_stored_with(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers may differ by 3 %: processors with other instruction sets add in another order."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("FIELDCRAFT_JOBS", "1")
    spec = importlib.util.spec_from_file_location("gallery_run", GALLERY / "run.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    stored, fresh = texts(nbformat.read(path, as_version=4)), texts(runner.executed(path))
    assert [NUMBER.sub("#", text) for text in fresh] == [NUMBER.sub("#", text) for text in stored]
    for old, new in zip(stored, fresh):
        assert UNWANTED.findall(new) == []
        numbers = [float(number) for number in NUMBER.findall(new)]
        assert numbers == pytest.approx([float(n) for n in NUMBER.findall(old)], rel=0.03, abs=0.02)
