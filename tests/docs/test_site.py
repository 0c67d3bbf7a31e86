"""The documentation site builds without a warning and asks nothing of other machines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from snippets import ROOT

pytestmark = pytest.mark.slow
FETCHED = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>")


def test_every_page_is_built(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not (site / page).is_file()] == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert {tag for page in site.rglob("*.html") for tag in FETCHED.findall(page.read_text("utf-8"))} == set()


def test_signatures_and_docstrings_are_there(site: Path) -> None:
    text = (site / "reference" / "models.html").read_text("utf-8")
    assert 'id="fieldcraft.ChainCRF.predict_proba"' in text
    assert "<code>min_count</code>: features seen less often are left out" in text
