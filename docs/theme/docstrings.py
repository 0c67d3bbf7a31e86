"""Docstrings for the reference pages: plain text in, Markdown out (an extension of griffe).

Our docstrings list parameters as `name : meaning` or `name   meaning`, with longer meanings indented
below. Here such paragraphs become lists and doctests become code blocks, so that no docstring has to
be written for the sake of a renderer.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function, Object

ENTRY = re.compile(r"(\w+(?:, \w+)*)(?: : | {2,})(\S.*)")
RULED = re.compile(r"^(Parameters|Examples)\n-+\n", re.MULTILINE)


class Docstrings(Extension):
    """Rewrites every docstring as it is collected; of overloads only the implementation is shown."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        del kwargs
        if isinstance(obj, Function):
            obj.overloads = None
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """The docstring with its entries as a list and its examples as code."""
    paragraphs = re.split(r"\n{2,}", RULED.sub("", text.strip()))
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    if lines[0].startswith(">>> "):
        return "\n".join(["```pycon", *lines, "```"])
    if ENTRY.match(lines[0]) and all(ENTRY.match(line) or line.startswith("  ") for line in lines):
        return "\n".join(map(_entry, lines))
    return text


def _entry(line: str) -> str:
    found = ENTRY.match(line)
    if found is None:
        return "    " + line.strip()
    names = ", ".join(f"`{name}`" for name in found.group(1).split(", "))
    return f"- {names}: {found.group(2)}"
