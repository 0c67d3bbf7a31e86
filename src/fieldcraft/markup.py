"""HTML for notebooks and pages: fragments that carry their own style and need nothing from elsewhere.

Everything that comes from data or model goes through ``escape``. Text takes the colour of its surroundings,
grounds are half transparent and lines have a middle tone, so that fragments are readable on light and dark
pages alike. A colour never says anything that a word beside it does not say too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

COLOURS = ("0,114,178", "213,94,0", "0,158,115", "204,121,167", "230,159,0", "86,180,233")
STYLE = """
.fieldcraft { font: 13px/1.5 system-ui, sans-serif; color: inherit; max-width: 72em; }
.fieldcraft table { border-collapse: collapse; margin: .3em 0; background: none; }
.fieldcraft .scroll { overflow-x: auto; }
.fieldcraft th, .fieldcraft td { padding: .15em .8em .15em 0; text-align: right; background: none;
  font-variant-numeric: tabular-nums; vertical-align: top; }
.fieldcraft th { font-weight: 600; border-bottom: 1px solid rgba(128,128,128,.5); }
.fieldcraft .left { text-align: left; }
.fieldcraft p { margin: .25em 0; overflow-wrap: anywhere; }
.fieldcraft .text { line-height: 2.1; overflow-wrap: anywhere; margin: .2em 0; }
.fieldcraft .side { display: inline-block; min-width: 5.5em; opacity: .75; }
.fieldcraft .span { padding: .15em .3em; border-radius: .25em; border-bottom: 2px solid rgba(128,128,128,.8);
  color: inherit; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.fieldcraft .span small { font-size: .78em; font-weight: 600; margin-left: .35em; opacity: .85; }
.fieldcraft .wrong { outline: 2px dashed currentColor; outline-offset: 1px; margin: 0 .25em; }
.fieldcraft details { margin: .2em 0; }
.fieldcraft summary { cursor: pointer; }
"""
PAGE_STYLE = "html { color-scheme: light dark; } body { margin: 2em; background: Canvas; color: CanvasText; }"


def fragment(*parts: str) -> str:
    """What a notebook shows; the parts are HTML."""
    body = "\n".join(parts)
    return f'<div class="fieldcraft"><style>{STYLE}</style>\n{body}\n</div>'


def page(title: str, body: str) -> str:
    """A whole document around a fragment."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table; its first ``left`` columns are words, the others numbers."""
    sides = ['class="left"' if i < left else "" for i in range(len(head))]
    top = "".join(f"<th {side}>{escape(cell)}</th>" for side, cell in zip(sides, head))
    body = "\n".join(
        "<tr>" + "".join(f"<td {side}>{escape(cell)}</td>" for side, cell in zip(sides, row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def marked(
    words: Sequence[str],
    spans: Iterable[tuple[int, int, str, str]],
    colours: dict[str, int],
    *,
    wrong: Iterable[tuple[int, int, str]] = (),
    side: str = "",
) -> str:
    """A line of words; spans (start, end, label, note) have a ground of their label's colour.

    ``colours`` numbers the labels, and grows. Those of ``wrong`` get a dashed frame and a cross.
    """
    bad, parts, at = set(wrong), [f'<span class="side">{escape(side)}</span>'] if side else [], 0
    for start, end, label, note in sorted(spans):
        parts += [escape(word) for word in words[at:start]]
        colour = COLOURS[colours.setdefault(label, len(colours)) % len(COLOURS)]
        failed = (start, end, label) in bad
        name = " ".join(filter(None, [label, note, "\N{BALLOT X}" if failed else ""]))
        kind = "span wrong" if failed else "span"
        style = f"background:rgba({colour},.22);border-bottom-color:rgb({colour})"
        text = escape(" ".join(words[start:end]))
        parts.append(f'<span class="{kind}" style="{style}">{text}<small>{escape(name)}</small></span>')
        at = end
    parts += [escape(word) for word in words[at:]]
    return f'<div class="text">{" ".join(parts)}</div>'
