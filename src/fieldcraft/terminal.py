"""Text from data on a terminal, which must not interpret it: control characters are escaped."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    """The text with control and other invisible characters escaped, but those of ``keep``.

    >>> print(visible("B-\\x1b[31mLOC"))
    B-\\x1b[31mLOC
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text
    )


def visible_lines(text: str) -> str:
    """The same for a text of several lines, whose ends and tabs stay."""
    return visible(text, keep="\n\t")
