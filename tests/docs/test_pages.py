"""Every Python snippet of the README and the docs runs, and prints what the page says it prints.

A page with ``>>>`` is a doctest. On other pages the fenced Python blocks run top to bottom in one
namespace. Each page runs in a folder of its own.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path) -> list[str]:
    """Fenced Python blocks that are not doctests, each at its own line for tracebacks."""
    text = page.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]
    return ["\n" * line + code for line, code in found if ">>>" not in code]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_doctests_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted == len(re.findall(r"^>>> ", page.read_text(encoding="utf-8"), re.M))
    assert found.failed == 0


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)
def test_plain_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for code in blocks(page):
        exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = [x for x in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in x]
    assert [link for link in links if not (page.parent / link).exists()] == []
