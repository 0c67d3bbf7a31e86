"""Reads HTML pages that tests made: their tags must match, and be ours alone."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br"}
OURS = {
    *("html", "head", "meta", "title", "style", "body", "div", "h1", "h2", "p", "span"),
    *("b", "small", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
}


class Tags(HTMLParser):
    """Tags and texts of a page; complains where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.names: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
