"""Templates that look at whole segments.

    segment.length            the number of tokens: 1, 2, 3 …
    segment.length_range      the same in ranges: 1, 2, 3, 4, 5-6, 7-9, 10-14, 15-
    segment.text              the words; segment.text(pos) those of another column
    segment.lower             the words in lower case
    segment.shape             the words' shapes
    first(T)  last(T)         a template T of tokens, at the segment's first or last token
    before(T)  after(T)       the same at the token before or after the segment
    near(G, word)             how close the segment is to the nearest entry of the gazetteer G;
    near(G, word, S)          by the similarity S: exact, jaccard, cosine (default) or edit

One template a line, ``#`` begins a comment. Lines of other templates are those of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fieldcraft.errors import TemplateError
from fieldcraft.features.predicates import shape
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import Template, Term

SIMILARITIES = ("exact", "jaccard", "cosine", "edit")
FORMS: dict[str, Callable[[str], str]] = {"text": str, "lower": str.lower, "shape": shape}
RANGES = (1, 2, 3, 4, 5, 7, 10, 15)  # the first length of each range
SIDES = {"first": ("first", 0), "last": ("last", 0), "before": ("first", -1), "after": ("last", 1)}
_SEGMENT = re.compile(r"segment\.(\w+)\s*(?:\(\s*(\w+)\s*\))?$")
_SIDE = re.compile(r"(first|last|before|after)\s*\((.*)\)$")
_NEAR = re.compile(r"near\s*\(\s*(\w+)\s*,\s*(\w+)\s*(?:,\s*(\w+)\s*)?\)$")


class SegmentTemplate(NamedTuple):
    """One template of whole segments. ``kind``: length, length_range, a form, near or function."""

    kind: str
    column: str = ""
    gazetteer: str = ""
    similarity: str = ""

    @property
    def name(self) -> str:
        if self.kind == "near":
            return f"near({self.gazetteer}, {self.column}, {self.similarity})"
        if self.kind == "function":
            return "segment_features"
        column = f"({self.column})" if self.column not in ("", "word") else ""
        return f"segment.{self.kind}{column}"

    def shown(self, key: str) -> str:
        """An attribute, for display."""
        if self.kind == "function":
            return key
        return f"{self.name}={key.replace(WORDS, ' ')}"


WORDS = "\x1f"  # between the words of a text


class SideTemplate(NamedTuple):
    """A template of tokens at one side of a segment."""

    name: str
    part: str  # first or last
    template: Template


class SegmentTemplates(NamedTuple):
    """The templates of segments, by kind."""

    whole: list[SegmentTemplate]
    sides: list[SideTemplate]

    @property
    def columns(self) -> list[str]:
        """Columns that templates of whole segments look at."""
        return list(dict.fromkeys(t.column for t in self.whole if t.column))

    @property
    def gazetteers(self) -> list[str]:
        return list(dict.fromkeys(t.gazetteer for t in self.whole if t.gazetteer))


def is_segment_line(line: str) -> bool:
    """Whether a line of templates is one of segments."""
    text = line.partition("#")[0].strip()
    return bool(text.startswith("segment.") or _SIDE.match(text) or text.startswith("near("))


def split_templates(templates: Any) -> tuple[Any, str]:
    """The templates of tokens, and the lines of those of segments among them."""
    if not isinstance(templates, str) or not any(map(is_segment_line, templates.splitlines())):
        return templates, ""
    lines = templates.splitlines()
    tokens = "\n".join(line for line in lines if not is_segment_line(line))
    return tokens, "\n".join(filter(is_segment_line, lines))


def parse_segment_templates(text: Any, *, where: str = "segment_templates") -> SegmentTemplates:
    """Templates from text.

    >>> parse_segment_templates("segment.length  # tokens").whole[0].name
    'segment.length'
    """
    if text is None:
        return SegmentTemplates([], [])
    if not isinstance(text, str):
        raise TemplateError(
            f"{where} is a {type(text).__name__}; give a text with one template a line, or None"
        )
    found = SegmentTemplates([], [])
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if line:
            _add(line, found, f"{where}:{number}")
    return SegmentTemplates(list(dict.fromkeys(found.whole)), list(dict.fromkeys(found.sides)))


def _add(line: str, to: SegmentTemplates, where: str) -> None:
    if matched := _SEGMENT.match(line):
        to.whole.append(_whole(line, matched[1], matched[2], where))
    elif matched := _NEAR.match(line):
        similarity = matched[3] or "cosine"
        if similarity not in SIMILARITIES:
            raise TemplateError(f"{where}: no similarity {similarity!r}; there are {', '.join(SIMILARITIES)}")
        to.whole.append(SegmentTemplate("near", matched[2], matched[1], similarity))
    elif matched := _SIDE.match(line):
        part, shift = SIDES[matched[1]]
        for template in Templates.parse(matched[2], where=where):
            if template.part == "edge":
                raise TemplateError(
                    f"{where}: {line!r} looks at label pairs; only templates of tokens go here"
                )
            name = f"{matched[1]}({template})"
            to.sides.append(SideTemplate(name, part, template.shift(shift)))
    else:
        raise TemplateError(
            f"{where}: {line!r} is no template of segments; write segment.length, segment.text, "
            "segment.shape, first(word), last(word), before(word), after(word) or near(gazetteer, word)"
        )


def _whole(line: str, kind: str, column: str | None, where: str) -> SegmentTemplate:
    if kind in FORMS:
        return SegmentTemplate(kind, column or "word")
    if kind not in ("length", "length_range"):
        known = ", ".join(f"segment.{k}" for k in ("length", "length_range", *FORMS))
        raise TemplateError(f"{where}: no template {line!r}; there are {known}")
    if column:
        raise TemplateError(f"{where}: {line!r} looks at a column; segment.{kind} has none")
    return SegmentTemplate(kind)


def length_key(kind: str, length: int) -> str:
    """The text of a length, or of its range.

    >>> length_key("length_range", 8), length_key("length_range", 15), length_key("length", 8)
    ('7-9', '15-', '8')
    """
    if kind == "length":
        return str(length)
    i = max(j for j, low in enumerate(RANGES) if low <= length)
    if i + 1 == len(RANGES):
        return f"{RANGES[i]}-"
    high = RANGES[i + 1] - 1
    return str(RANGES[i]) if high == RANGES[i] else f"{RANGES[i]}-{high}"


def as_template(name: str, part: str) -> Template:
    """What the feature index knows of it: a name and a part."""
    return Template((Term("constant"),), part, ("", ""), name)
