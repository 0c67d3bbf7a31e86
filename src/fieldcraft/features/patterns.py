"""Reads template files of CRF++ and Wapiti.

A line is a literal text with macros; its first letter says which labels it is joined with: ``U``
the label, ``B`` the label pair, ``*`` (Wapiti) both. Columns are positions. The macros:

    %x[row,col]          the string of a column, row tokens to the right
    %t[row,col,"regex"]  "true" or "false": whether the expression is found in it      (Wapiti)
    %m[row,col,"regex"]  the first text that the expression matches, or nothing         (Wapiti)
    %X %T %M             the same in lower case                                         (Wapiti)
    %x[@row,col]         counted from the start (1 is the first token) or, negative, from the end

Outside the sequence CRF++ puts ``_B-1`` … ``_B+4``, Wapiti ``_x-1`` … ``_x+4`` and ``_x-#`` beyond.
Wapiti's expressions are a small dialect: classes ``\\a \\d \\l \\p \\s \\u \\w`` (capital: the
complement), ``.``, ``^``, ``$``, ``?`` and a lazy ``*``; other characters stand for themselves. Its
``%x[*n,col]`` (a row read from a column) is refused.

Both tools identify an attribute by its text alone: lines that differ only in rows (``U:%x[-1,0]``,
``U:%x[0,0]``) share their attributes, a bag of words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from fieldcraft.errors import TemplateError
from fieldcraft.features.terms import Step, Template, Term

CRFPP_REACH = 4  # CRF++ has no boundary text beyond
WAPITI_CLIP = 5  # Wapiti distinguishes distances 1 .. 4 and all larger ones

_MACRO = re.compile(
    r"%(?P<command>[xXtTmM])\[(?P<mark>[@*]?)(?P<row>[+-]?\d{1,9}),(?P<column>\d{1,9})"
    r'(?:,"(?P<regex>(?:[^"\\]|\\.)*)")?\]'
)
_CLASSES = {
    "a": "A-Za-z",
    "d": "0-9",
    "l": "a-z",
    "p": re.escape(string.punctuation),
    "s": r" \t\n\r\f\v",
    "u": "A-Z",
    "w": "A-Za-z0-9",
}


def looks_like_patterns(text: str) -> str | None:
    """ "wapiti" or "crfpp" when the lines are of that kind, None otherwise."""
    lines = [s for s in map(_without_comment, text.splitlines()) if s]
    if not lines or not all(re.match(r"[UBub*][^\[]*(%|$|[:\d])", s) for s in lines):
        return None
    if not any("%" in s for s in lines) and not all(s in ("B", "U", "b", "u", "*") for s in lines):
        return None
    wapiti = any(s[0] in "ub*" or re.search(r"%[XtTmM]|%x\[[@*]", s) for s in lines)
    return "wapiti" if wapiti else "crfpp"


def _without_comment(line: str) -> str:
    return "" if line.lstrip().startswith("#") else line.strip()


def read_patterns(text: str, where: str, format: str) -> tuple[list[Template], bool]:
    """The templates of a pattern file, and whether it has label pairs without observation."""
    templates: list[Template] = []
    edge_bias = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw)
        for template in _line_templates(line, f"{where}:{number}", format) if line else ():
            if template.part == "edge" and template.terms == (Term("constant"),):
                edge_bias = True
            else:
                templates.append(template)
    return templates, edge_bias


def _line_templates(line: str, where: str, format: str) -> Iterator[Template]:
    kinds = {"U": ("node",), "B": ("edge",), "*": ("node", "edge")}
    kind = line[0].upper() if format == "wapiti" else line[0]
    if kind not in kinds or (format == "crfpp" and kind == "*"):
        raise TemplateError(f"{where}: a line begins with U or B (Wapiti: or *), not {line!r}")
    pieces, terms = _split(line, where, format)
    for part in kinds[kind]:
        if terms:
            yield Template(tuple(terms), part, tuple(pieces), line)
        else:
            yield Template((Term("constant"),), part, (line, ""), line)


def _split(line: str, where: str, format: str) -> tuple[list[str], list[Term]]:
    """Literal pieces and the terms between them."""
    pieces, terms, at = [], [], 0
    for found in _MACRO.finditer(line):
        pieces.append(line[at : found.start()])
        terms.append(_term(found, where, format))
        at = found.end()
    pieces.append(line[at:])
    if any("%" in piece for piece in pieces):
        raise TemplateError(
            f'{where}: a macro that is not %x[row,col], %t[row,col,"regex"] or '
            f'%m[row,col,"regex"] in {line!r}'
        )
    return pieces, terms


def _term(found: re.Match[str], where: str, format: str) -> Term:
    command, row, mark = found["command"], int(found["row"]), found["mark"]
    if format == "crfpp" and (command != "x" or mark):
        raise TemplateError(f"{where}: CRF++ knows only %x[row,col], not {found[0]!r}")
    if format == "crfpp" and abs(row) > CRFPP_REACH:
        raise TemplateError(f"{where}: CRF++ looks at most {CRFPP_REACH} tokens away, not {found[0]!r}")
    if mark == "*":
        raise TemplateError(f"{where}: a row read from a column is not supported: {found[0]!r}")
    if (command in "xX") != (found["regex"] is None):
        raise TemplateError(f'{where}: %x takes row and column, %t and %m also a "regex": {found[0]!r}')
    if mark == "@" and row == 0:
        raise TemplateError(f"{where}: tokens are counted from 1: {found[0]!r}")
    if mark == "@" and row > 0:
        row -= 1
    return Term("column", found["column"], _steps(found, where), offset=row, absolute=mark == "@")


def _steps(found: re.Match[str], where: str) -> tuple[Step, ...]:
    command = found["command"]
    names = {"t": "truth", "m": "extract_or_empty"}
    steps = []
    if command.lower() in names:
        steps.append(Step(names[command.lower()], _checked_regex(found["regex"], where)))
    if command.isupper():
        steps.append(Step("lower_ascii"))
    return tuple(steps)


def _checked_regex(text: str, where: str) -> str:
    expression = python_regex(text)
    doubled = re.search(r"(?<!\\)(?:\\\\)*[*?][*?]", text) or text[:1] in ("*", "?")
    try:
        re.compile(expression)
    except (re.error, OverflowError, RecursionError):
        doubled = True
    if doubled:
        raise TemplateError(f"{where}: {text!r} is not a regular expression of Wapiti's; escape * and ?")
    return expression


def python_regex(text: str) -> str:
    """An expression of Wapiti's dialect as one of Python's."""
    out = []
    if text.startswith("^"):
        out.append(r"\A")
        text = text[1:]
    for found in re.finditer(r"\\.|.", text, re.DOTALL):
        piece = found.group()
        if piece == "$" and found.end() == len(text):
            out.append(r"\Z")
        elif piece in ("*", "?"):
            out.append("*?" if piece == "*" else "?")
        else:
            out.append(_one_character(piece))
    return "(?s)" + "".join(out)


def _one_character(piece: str) -> str:
    if piece == ".":
        return "."
    letter = piece[-1]
    if len(piece) == 2 and letter.lower() in _CLASSES:
        return f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]"
    return re.escape(letter)
