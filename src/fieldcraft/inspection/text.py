"""Reports as text: columns of aligned cells, coloured on request.

Hazards: attributes contain arbitrary data, so control characters are escaped (a terminal must not interpret
them), and wide characters (Chinese, Japanese …) take two columns.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterator

from fieldcraft.inspection.report import Cell, Report, Table
from fieldcraft.terminal import visible

STYLES = {
    "for": "green",
    "against": "red",
    "label": "bold cyan",
    "quiet": "dim",
    "head": "dim",
    "title": "bold",
}
Paint = Callable[[str, str], str]


def wants_colour() -> bool:
    """Whether standard output is a terminal and NO_COLOR is not set."""
    return not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def render(report: Report, *, colour: bool) -> str:
    """Title, then section by section."""
    paint = _painter() if colour else _plain
    lines = [paint(visible(report.title()), "title")]
    for section in report.sections():
        lines += ["", paint(visible(section.title), "title")]
        for part in section.parts:
            lines += [visible(part)] if isinstance(part, str) else list(_table(part, paint))
    return "\n".join(lines)


def width(text: str) -> int:
    """The number of columns of a text on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(bool(unicodedata.combining(c)) for c in text)


def _plain(text: str, tone: str) -> str:
    del tone
    return text


def _painter() -> Paint:
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {tone: Style.parse(style) for tone, style in STYLES.items()}

    def paint(text: str, tone: str) -> str:
        known = tone in styles and text
        return styles[tone].render(text, color_system=ColorSystem.STANDARD) if known else text

    return paint


def _table(table: Table, paint: Paint) -> Iterator[str]:
    head = [Cell(name, "head") for name in table.head]
    rows = [[cell._replace(text=visible(cell.text)) for cell in row] for row in (head, *table.rows)]
    widths = [max(width(row[c].text) for row in rows) for c in range(len(head))]
    for row in rows if any(table.head) else rows[1:]:
        cells = [_padded(*column, paint) for column in zip(row, widths, table.align)]
        yield ("  " + "  ".join(cells)).rstrip()


def _padded(cell: Cell, places: int, align: str, paint: Paint) -> str:
    blank, painted = " " * (places - width(cell.text)), paint(cell.text, cell.tone)
    return blank + painted if align == ">" else painted + blank
