"""Column files: a token a line, a column per field, a blank line between sequences (CoNLL).

    Rome NNP I-LOC
    fell VBD O

    -DOCSTART- -X- O

`separator`: `blank` (runs of blanks and tabs), `tab` (one tab; fields may contain blanks and may
be empty), `auto` (tab if the first line has one), or another single character (read, not
written). `docstart`: `skip` drops lines that open with -DOCSTART- (they still end a sequence),
`keep` reads them as tokens. `comment`: lines with this prefix are dropped.
Hazard: only the blank and the tab separate fields; no-break and ideographic spaces belong to tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from operator import methodcaller

from fieldcraft.corpus.document_lines import opens_document
from fieldcraft.corpus.formats.context import (
    Batches,
    Block,
    ReadJob,
    Row,
    WritePlan,
    named,
    transposed,
)
from fieldcraft.corpus.formats.context import blocks as all_blocks
from fieldcraft.corpus.layout import MOST, choose, default_names
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import CorpusError

DOCSTART = "-DOCSTART-"
_OPENS_DOCUMENT = methodcaller("startswith", DOCSTART)


def _at_tabs(line: str) -> list[str]:
    return line.rstrip(" \t\r").split("\t")


_FIELDS = re.compile(r"[^ \t\r]+")


def _at_blanks(line: str) -> list[str]:
    # in a printable line the blank is the only white space, and split is several times quicker
    return line.split() if line.isprintable() else _FIELDS.findall(line)


_SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "blank": _at_blanks,
    "tab": _at_tabs,
}
_JOINERS = {"blank": " ", "tab": "\t"}
# what a field cannot be; blanks and tabs at a line's end are lost, so its last field is less free
_FORBIDDEN = {"blank": re.compile(r"[ \t\r\n]|^$"), "tab": re.compile(r"[\t\r\n]")}
_FORBIDDEN_LAST = {"blank": _FORBIDDEN["blank"], "tab": re.compile(r"[\t\r\n]|^$| $")}


def read(batches: Batches, job: ReadJob) -> Iterator[Sequence]:
    """Sequences of a column file; unnamed columns are called word, c1, ..., label."""
    split = None
    names: tuple[str, ...] = ()
    layout = None
    for lines, numbers, opened in _documents(all_blocks(batches, comment=job.comment), job):
        if split is None:
            job.separator = _separator(job.separator, lines[0])
            split = _splitter(job.separator)
        rows = [split(line) for line in lines]
        if layout is None:
            where = f"{job.source.name}:{numbers[0]}"
            names = _names(job, len(rows[0]))
            remedy = _remedy(names, job)
            layout = job.layout = choose(
                names, None, job.label, where, optional=job.optional_label, remedy=remedy
            )
        values = transposed(rows)
        if values is None or len(values) != len(names):
            raise _ragged(lines, numbers, len(names), job)
        sequence = named(values, names, layout)
        sequence.info = None if opened is None else {"document": opened}
        yield sequence


def write(rows: Iterable[Row], plan: WritePlan) -> Iterator[str]:
    """One line per token, a blank line after each sequence."""
    if plan.separator not in _JOINERS:
        raise CorpusError(f"separator {plan.separator!r} is unknown; use {' or '.join(_JOINERS)}")
    joint = _JOINERS[plan.separator]
    free, last = _FORBIDDEN[plan.separator], _FORBIDDEN_LAST[plan.separator]
    for index, (_, values) in zip(count(), rows):
        columns = [values[name] for name in plan.fields]
        if not columns or not columns[0]:
            raise plan.error(index, "is empty, which column files cannot represent; write jsonl")
        text = "\n".join(map(joint.join, zip(*columns)))
        if _suspicious(text, columns, joint):
            for name, column in zip(plan.fields, columns):
                forbidden = last if name == plan.fields[-1] else free
                if any(map(forbidden.search, column)):
                    raise _unwritable(plan, index, name, column, forbidden)
        yield text + "\n\n"


def _suspicious(text: str, columns: list[list[str]], joint: str) -> bool:
    """Whether a field may be unwritable: a quick look at the whole that misses nothing."""
    size, width = len(columns[0]), len(columns)
    return (
        text.count("\n") != size - 1
        or text.count(joint) != size * (width - 1)
        or "\r" in text
        or (joint == " " and "\t" in text)
        or (joint == "\t" and (" \n" in text or text.endswith(" ")))
        or any("" in column for column in columns)
    )


def _names(job: ReadJob, width: int) -> tuple[str, ...]:
    """The names of the columns; without the labels' where these may lack and the width says so."""
    names = job.columns or default_names(width)
    labels = (job.label,) if isinstance(job.label, (str, int)) else tuple(job.label or ())
    if job.optional_label and width == len(names) - len(labels):
        return tuple(name for name in names if name not in labels)
    return names


def _remedy(names: tuple[str, ...], job: ReadJob) -> str:
    """What to do about a label column that is not there: in a file without names, name the last column so."""
    if job.columns or not isinstance(job.label, str) or len(names) < 2:
        return "name one of them"
    return f"name the columns: --columns {','.join([*names[:-1], job.label])}"


def _documents(blocks: Iterable[Block], job: ReadJob) -> Iterator[tuple[list[str], list[int], str | None]]:
    """The blocks, cut at -DOCSTART- lines if these are to be skipped.

    With ``job.documents`` also at other lines that open documents; the text of such a line comes with the
    block behind it, None with other blocks.
    """
    if job.docstart == "keep" and not job.documents:
        yield from ((*block, None) for block in blocks)
        return
    if job.docstart == "keep":
        raise CorpusError("docstart='keep' reads the lines that open documents as tokens; leave it out")
    if job.docstart != "skip":
        raise CorpusError(f"docstart={job.docstart!r} is unknown; use skip or keep")
    opens = opens_document if job.documents else _OPENS_DOCUMENT
    opened: str | None = None
    for lines, numbers in blocks:
        if not any(map(opens, lines)):
            yield lines, numbers, opened
            opened = None
            continue
        start = 0
        for end, line in enumerate([*lines, DOCSTART]):
            if opens(line):
                if start < end:
                    yield lines[start:end], numbers[start:end], opened
                    opened = None
                if end < len(lines) and job.documents:
                    opened = line
                start = end + 1


def _separator(separator: str, first: str) -> str:
    if separator == "auto":
        return "tab" if "\t" in first.rstrip(" \t\r") else "blank"
    return separator


def _splitter(separator: str) -> Callable[[str], list[str]]:
    if len(separator) == 1 and separator > " ":
        return lambda line: line.rstrip("\r").split(separator)
    if separator not in _SPLITTERS:
        raise CorpusError(f"separator {separator!r} is unknown; use auto, blank, tab or one character")
    return _SPLITTERS[separator]


def _ragged(lines: list[str], numbers: list[int], width: int, job: ReadJob) -> CorpusError:
    """The error of the first line with another number of columns."""
    split = _splitter(job.separator)
    number, line, row = next((n, x, split(x)) for n, x in zip(numbers, lines) if len(split(x)) != width)
    remedy, expected = "separate columns with one blank or tab", f"{width} were expected"
    if job.columns:
        expected += f" ({', '.join(job.columns[:MOST])}{' …' if width > MOST else ''})"
        if len({len(split(x)) for x in lines}) == 1:
            remedy = "give a file with these columns, or name those of this file with columns="
    if job.separator == "tab" and len(_at_blanks(line)) == width:
        remedy = "lines before have tabs between columns, this one blanks; pass separator='blank'"
    elif job.separator == "blank" and len(_at_tabs(line)) == width:
        remedy = (
            "lines before have blanks between columns, this one tabs, and blanks in a field; use tabs only"
        )
    elif len(row) == 1 and line.count(",") + 1 == width:
        remedy = "this line has commas; pass format='csv' for a table with a line of names"
    return job.source.error(number, f"{len(row)} columns where {expected}; {remedy}")


def _unwritable(
    plan: WritePlan, sequence: int, name: str, column: list[str], forbidden: re.Pattern[str]
) -> CorpusError:
    token, value = next((t, v) for t, v in enumerate(column) if forbidden.search(v))
    remedy = "write with separator='tab'" if plan.separator == "blank" else "write jsonl"
    return plan.error(
        sequence,
        f"token {token}: {name} {value!r} cannot be written with separator={plan.separator!r}; {remedy}",
    )
