"""Every Python and shell snippet of the README and the docs runs and prints what the page says.

Links and their anchors lead somewhere, and every page is in the site's navigation.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from snippets import PAGES, ROOT, name_of, prose, run, snippets

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
RUNNABLE = [page for page in PAGES if any(s.language in {"python", "console"} for s in snippets(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_snippets_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "\n".join(run(page, tmp_path)) == ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_snippet_is_passed_over(page: Path) -> None:
    """Prompts stand only in blocks that are run."""
    assert re.findall(r"^(?:>>> |\$ fieldcraft).*", prose(page), re.MULTILINE) == []
    others = [s for s in snippets(page) if s.language not in {"python", "console"}]
    assert [s.line for s in others if ">>> " in s.text or s.text.startswith("$ ")] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_show_results(page: Path) -> None:
    """A reader learns more from a number than from `True`."""
    text = "\n".join(snippet.text for snippet in snippets(page) if ">>> " in snippet.text)
    examples = doctest.DocTestParser().get_examples(text)
    judged = re.compile(r"[=<>]=|[<>]|\b(all|any|allclose|array_equal|isclose)\(")
    bare = [
        e.source for e in examples if set(re.findall(r"\w+", e.want)) == {"True"} and judged.search(e.source)
    ]
    assert bare == []


def anchors(page: Path) -> set[str]:
    """The ids that headings get: lower case, punctuation dropped, blanks to hyphens."""
    titles = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in HEADING.findall(prose(page)))
    return {re.sub(r"[\s-]+", "-", title) for title in titles}


def broken(page: Path, target: str, anchor: str) -> bool:
    path = page.parent / target if target else page
    return not path.exists() or bool(anchor and path.suffix == ".md" and anchor not in anchors(path))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(prose(page)) if "://" not in link[0]]
    assert [link for link in links if broken(page, *link)] == []


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(listed) == pages
