"""Reports as HTML: one fragment with its own style for notebooks, or a whole page around it.

Everything that comes from data or model goes through `escape`. Colours work on light and dark grounds:
text takes the colour of its surroundings, lines and bars are half transparent.
"""

from __future__ import annotations

from html import escape
from itertools import chain

from fieldcraft.inspection.report import Cell, Report, Section, Table
from fieldcraft.markup import COLOURS

STYLE = """
.fieldcraft { font: 13px/1.45 system-ui, sans-serif; color: inherit; max-width: 72em; }
.fieldcraft h1 { font-size: 1.25em; margin: .4em 0; }
.fieldcraft h2, .fieldcraft summary { font-size: 1em; font-weight: 600; margin: 1em 0 .3em; }
.fieldcraft summary { cursor: pointer; margin: .35em 0; }
.fieldcraft p { margin: .2em 0; opacity: .8; overflow-wrap: anywhere; }
.fieldcraft .scroll { overflow-x: auto; }
.fieldcraft table { border-collapse: collapse; margin: .2em 0 .6em; background: none; }
.fieldcraft th, .fieldcraft td { padding: .12em .7em .12em 0; text-align: left; vertical-align: top;
  white-space: pre-wrap; overflow-wrap: break-word; background: none; }
.fieldcraft th { font-weight: 500; opacity: .75; border-bottom: 1px solid rgba(128,128,128,.4); }
.fieldcraft tr:hover td { background: rgba(128,128,128,.12); }
.fieldcraft .right { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.fieldcraft .label { font-weight: 600; }
.fieldcraft .quiet { opacity: .68; }
.fieldcraft .for { color: #0072b2; color: color-mix(in srgb, rgb(0,114,178) 55%, currentColor); }
.fieldcraft .against { color: #b34e00; color: color-mix(in srgb, rgb(213,94,0) 55%, currentColor); }
.fieldcraft .axis { display: inline-block; width: 10em; height: .8em; margin-right: .6em;
  background: linear-gradient(currentColor, currentColor) 50% 0 / 1px 100% no-repeat; }
.fieldcraft .bar { display: block; height: 100%; border-radius: 2px; background: currentColor; opacity: .55; }
.fieldcraft .strip { display: flex; flex-wrap: wrap; gap: .35em; margin: .6em 0 1em; }
.fieldcraft .card { padding: .3em .55em .35em; border-radius: .35em; border-bottom: 3px solid;
  text-align: center;   max-width: 16em; overflow-wrap: anywhere; }
.fieldcraft .card b { display: block; font-size: 1.1em; font-weight: 500; }
.fieldcraft .card small { display: block; font-size: .85em; }
.fieldcraft .card .quiet { opacity: .9; }
"""
PAGE_STYLE = "html { color-scheme: light dark; } body { margin: 2em; background: Canvas; color: CanvasText; }"
OUTSIDE = "O"
RIGHT = {">": "right", "<": ""}
BAR = 5.0  # em, of the largest weight; half of the axis that bars stand on


def page(report: Report) -> str:
    """A whole document."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title())}</title><style>{PAGE_STYLE}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{fragment(report)}\n</body></html>\n'


def fragment(report: Report) -> str:
    """What a notebook shows."""
    body = "\n".join(_section(section) for section in report.sections())
    style = f"<style>{STYLE}</style>"
    return f'<div class="fieldcraft">{style}<h1>{escape(report.title())}</h1>\n{_strip(report)}{body}\n</div>'


def _section(section: Section) -> str:
    title = escape(section.title)
    parts = (f"<p>{escape(p)}</p>" if isinstance(p, str) else _table(p) for p in section.parts)
    if section.folded:
        return "".join(chain([f"<details><summary>{title}</summary>"], parts, ["</details>"]))
    return "".join(chain([f"<h2>{title}</h2>"], parts))


def _table(table: Table) -> str:
    head = "".join(f'<th class="{RIGHT[a]}">{escape(h)}</th>' for h, a in zip(table.head, table.align))
    rows = "\n".join(
        "<tr>" + "".join(_cell(cell, a) for cell, a in zip(row, table.align)) + "</tr>" for row in table.rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if any(table.head) else ""
    return f'<div class="scroll"><table>{top}<tbody>\n{rows}\n</tbody></table></div>'


def _cell(cell: Cell, align: str) -> str:
    classes = " ".join(filter(None, [RIGHT[align], cell.tone]))
    bar = _bar(cell) if cell.share else ""
    return (
        f'<td class="{classes}">{bar}{escape(cell.text)}</td>' if classes else f"<td>{escape(cell.text)}</td>"
    )


def _bar(cell: Cell) -> str:
    """To the right of the middle if it is for, to the left if it is against."""
    width = cell.share * BAR
    left = BAR if cell.tone == "for" else BAR - width
    return (
        '<span class="axis"><span class="bar" '
        f'style="margin-left:{left:.2f}em;width:{width:.2f}em"></span></span>'
    )


def _strip(report: Report) -> str:
    """The tokens side by side, each on a ground of its label's colour, the stronger the surer."""
    cards = report.cards()
    if not cards:
        return ""
    numbers: dict[str, int] = {}
    parts = []
    for card in cards:
        quiet = card.label == OUTSIDE
        number = None if quiet else numbers.setdefault(card.label.split("-", 1)[-1], len(numbers))
        colour = "128,128,128" if number is None else COLOURS[number % len(COLOURS)]
        style = f"background:rgba({colour},{0.04 + 0.14 * card.probability:.2f});border-color:rgb({colour})"
        parts.append(
            f'<div class="card" style="{style}"><b>{escape(card.word)}</b><small>{escape(card.label)} '
            f'{card.probability:.2f}</small><small class="quiet">{escape(card.other)}</small></div>'
        )
    return '<div class="strip">' + "\n".join(parts) + "</div>\n"
