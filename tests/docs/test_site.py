"""The documentation site builds without a warning and asks nothing of other machines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import ROOT

pytestmark = pytest.mark.slow
pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings_handlers.python")
FETCHED = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return target


def test_every_page_is_built(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not (site / page).is_file()] == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert {tag for page in site.rglob("*.html") for tag in FETCHED.findall(page.read_text("utf-8"))} == set()


def test_signatures_and_docstrings_are_there(site: Path) -> None:
    text = (site / "reference" / "models.html").read_text("utf-8")
    assert 'id="fieldcraft.ChainCRF.predict_proba"' in text
    assert "<code>min_count</code>: features seen less often are left out" in text
