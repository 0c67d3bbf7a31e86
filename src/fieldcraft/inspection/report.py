"""Reports: sections of tables, described once and rendered as text, HTML or JSON.

A report defines its tables (`sections`) and its plain values (`to_dict`); text.py and html.py render them. A
cell has a text, a tone (its meaning, not its colour) and, for weights, its fraction of the largest one, which
HTML draws as a bar.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from fieldcraft.replacing import replace_text


class Cell(NamedTuple):
    """A text with its meaning: "for", "against", "label", "quiet" or "" (plain)."""

    text: str
    tone: str = ""
    share: float = 0.0


class Table(NamedTuple):
    """Rows of cells; ``align`` has ``<`` or ``>`` for each column."""

    head: Sequence[str]
    align: str
    rows: Sequence[Sequence[Cell]]


class Card(NamedTuple):
    """A token as pages show it above the tables: its label, and in few words what else it could be."""

    word: str
    label: str
    probability: float
    other: str


class Section(NamedTuple):
    """A title and the parts below it; folded in HTML if ``folded``."""

    title: str
    parts: Sequence[Table | str]
    folded: bool = False


def signed(value: float | None, largest: float = 0.0) -> Cell:
    """A weight or a vote; None (there is no such feature) is a dot."""
    if value is None:
        return Cell(".", "quiet")
    tone = "for" if value > 0 else "against" if value < 0 else "quiet"
    return Cell(f"{value:+.3f}", tone, min(1.0, abs(value) / largest) if largest > 0 else 0.0)


class Report:
    """Base class of `Inspection` and `Explanation`: their renderings."""

    def title(self) -> str:
        """The title, one line."""
        raise NotImplementedError

    def sections(self) -> list[Section]:
        """The sections with their tables."""
        raise NotImplementedError

    def cards(self) -> list[Card]:
        """Tokens to be shown side by side; none unless a report has some."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Everything as pure JSON types."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = 2) -> str:
        """``to_dict`` as JSON text; numbers that are not finite are null."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, allow_nan=False, indent=indent)

    def text(self, *, colour: bool | None = None) -> str:
        """Plain tables; with ``colour`` in ANSI colours, with None if standard output is a terminal
        and NO_COLOR is not set."""
        from fieldcraft.inspection.text import render, wants_colour

        return render(self, colour=wants_colour() if colour is None else colour)

    def __str__(self) -> str:
        return self.text(colour=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A self-contained HTML page; also written to ``path`` unless that is None."""
        from fieldcraft.inspection.html import page

        text = page(self)
        if path is not None:
            replace_text(path, text)
        return text

    def _repr_html_(self) -> str:
        from fieldcraft.inspection.html import fragment

        return fragment(self)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
