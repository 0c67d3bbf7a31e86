"""Label schemes by enumeration: every set of disjoint spans of a short sequence, spelled out.

Nothing is parsed here. A labelling is well-formed if some set of spans is spelled that way, and
its spans are the ones that it spells.
"""

from __future__ import annotations

from collections.abc import Iterator

SpanTuple = tuple[int, int, str]

SCHEMES = ("io", "iob1", "iob2", "iobes", "bilou")
LETTERS = {"io": "I", "iob1": "BI", "iob2": "BI", "iobes": "BIES", "bilou": "BILU"}


def span_sets(length: int, types: list[str], start: int = 0) -> Iterator[list[SpanTuple]]:
    """All lists of disjoint spans, from left to right."""
    if start == length:
        yield []
        return
    yield from span_sets(length, types, start + 1)
    for end in range(start + 1, length + 1):
        for type_ in types:
            for rest in span_sets(length, types, end):
                yield [(start, end, type_), *rest]


def spell(spans: list[SpanTuple], length: int, scheme: str) -> list[str]:
    """One label per token, decided for each token on its own."""
    return [_label(t, spans, scheme) for t in range(length)]


def _label(t: int, spans: list[SpanTuple], scheme: str) -> str:
    for start, end, type_ in spans:
        if start <= t < end:
            letter = _letter(t, start, end, scheme, any(s[1:] == (start, type_) for s in spans))
            return f"{letter}-{type_}"
    return "O"


def _letter(t: int, start: int, end: int, scheme: str, after_same: bool) -> str:
    first, last = t == start, t == end - 1
    if scheme == "io":
        return "I"
    if scheme == "iob1":
        return "B" if first and after_same else "I"
    if scheme == "iob2":
        return "B" if first else "I"
    only, final = {"iobes": "SE", "bilou": "UL"}[scheme]
    if first and last:
        return only
    return "B" if first else final if last else "I"


def well_formed(length: int, types: list[str], scheme: str) -> dict[tuple[str, ...], list[SpanTuple]]:
    """Every well-formed labelling of this length and the spans that it stands for.

    io has several span sets for one spelling; the one with the fewest spans counts.
    """
    table: dict[tuple[str, ...], list[SpanTuple]] = {}
    for spans in span_sets(length, types):
        key = tuple(spell(spans, length, scheme))
        if key not in table or len(spans) < len(table[key]):
            table[key] = spans
    return table
