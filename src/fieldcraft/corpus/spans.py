"""A span: the token positions start .. end-1 carry one label, an entity or a chunk."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Half-open: `Span(2, 5, "LOC")` covers the tokens 2, 3 and 4."""

    start: int
    end: int
    label: str
