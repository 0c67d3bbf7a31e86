"""Every page of the site in a browser, opened from its folder: two widths, both themes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
CHECKS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")
WIDTHS = (390, 1280)
OVERFLOW = "() => document.scrollingElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": WIDTHS[1], "height": 900})
    yield context.new_page()
    context.close()


def problems_of(page: Any, address: str) -> list[str]:
    """What a reader of a page would stumble over; ends at the other width, for the next page."""
    page.goto(address, wait_until="load")
    found: list[str] = []
    now = page.viewport_size["width"]
    for width in sorted(WIDTHS, key=lambda width: width != now):
        if width != now:
            page.set_viewport_size({"width": width, "height": 900})
        found += [f"at {width}: {problem}" for problem in page.evaluate(CHECKS)]
        over = page.evaluate(OVERFLOW)
        found += [f"{over} pixels wider than {width}"] if over > 0 else []
    return found


def test_every_page(page: Any, site: Path) -> None:
    """No console message, no missing picture, no horizontal scrolling, enough contrast."""
    said: list[str] = []
    page.on(
        "console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(f"no answer from {request.url}"))
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]  # which servers show
    assert len(pages) > 60
    wrong: dict[str, list[str]] = {}
    for path in pages:
        said.clear()
        found = [*problems_of(page, path.as_uri()), *said]
        if found:
            wrong[path.relative_to(site).as_posix()] = found
    assert wrong == {}


def test_the_search_box_works_from_a_folder(page: Any, site: Path) -> None:
    page.goto((site / "tutorials" / "entities.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("gazetteer")
    page.wait_for_selector(".md-search-result__link", timeout=20_000)
    found = page.eval_on_selector_all(".md-search-result__link", "links => links.map((link) => link.href)")
    assert any("gazetteers.html" in address for address in found)


def test_the_copy_button_takes_code_alone(page: Any, site: Path) -> None:
    page.goto((site / "getting-started.html").as_uri())
    page.evaluate("document.addEventListener('copy', (e) => { window.copied = e.target.value })")
    page.locator("div.highlight", has_text="def features(words)").locator(
        "button[data-md-type=copy], .md-clipboard"
    ).first.click()
    code = page.evaluate("window.copied")
    compile(code, "copied", "exec")
    assert ">>>" not in code
    assert "[['B-PER'" not in code
    assert code.startswith("import fieldcraft as fc")
