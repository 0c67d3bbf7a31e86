"""Tables in text, with a line of names: CSV (commas, fields may be quoted) and TSV (tabs, no quotes).

    sentence,word,ner            word,ner
    1,Rome,B-LOC                 Rome,B-LOC
    1,fell,O                     fell,O
    2,It,O
                                 It,O

One row per token. Sequences are separated by blank lines (or rows of empty cells), or by a change of value
in the column that `sequence` names, which is then no column of the corpus. The writer writes the line of
names, and a blank line between sequences.
Hazard: in some countries spreadsheets save semicolons; a file whose first line has these and no commas is
split there.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from fieldcraft.corpus.formats.context import Batches, ReadJob, Row, WritePlan, named
from fieldcraft.corpus.layout import choose
from fieldcraft.corpus.sequences import Sequence

Line: TypeAlias = "tuple[int, list[str]]"  # number, cells


def _read(dialect: str, batches: Batches, job: ReadJob) -> Iterator[Sequence]:
    rows = _rows(dialect, batches, job)
    number, names = next(((n, cells) for n, cells in rows if any(cells)), (0, []))
    if not names:
        return
    names = [name.strip() for name in names]
    if job.sequence is not None and job.sequence not in names:
        raise job.source.error(
            number, f"sequence column {job.sequence!r} is not one of {', '.join(names)}; name one of them"
        )
    where = f"{job.source.name}:{number}"
    kept = [name for name in names if name != job.sequence]
    job.layout = choose(kept, job.columns, job.label, where, optional=job.optional_label)
    for block in _sequences(rows, names, job):
        yield named([list(column) for column in zip(*block)], names, job.layout)


def _rows(dialect: str, batches: Batches, job: ReadJob) -> Iterator[Line]:
    """The cells of each line, with its number."""
    lines = (line.rstrip("\r") for line in chain.from_iterable(batches))
    if dialect == "tsv":
        for number, line in enumerate(lines, 1):
            yield number, line.split("\t")
        return
    first = next(lines, "")
    comma = ";" if "," not in first and ";" in first else ","
    reader = csv.reader(chain([first], lines), delimiter=comma, strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise job.source.error(
            reader.line_num, f"{error}; double the quotes inside a quoted field, or save the file as TSV"
        ) from None


def _sequences(rows: Iterable[Line], names: list[str], job: ReadJob) -> Iterator[list[list[str]]]:
    """The rows of each sequence."""
    at = None if job.sequence is None else names.index(job.sequence)
    block: list[list[str]] = []
    for number, cells in rows:
        if not any(cells):
            ends = True
        else:
            if len(cells) != len(names):
                raise job.source.error(
                    number,
                    f"{len(cells)} fields where the first line names {len(names)}; quote fields with commas",
                )
            ends = at is not None and bool(block) and block[-1][at] != cells[at]
        if ends and block:
            yield block
            block = []
        if any(cells):
            block.append(cells)
    if block:
        yield block


def _write(dialect: str, rows: Iterable[Row], plan: WritePlan) -> Iterator[str]:
    separator = "\t" if dialect == "tsv" else ","
    if plan.header:
        yield _line(plan.fields, separator, plan, 0)
    for index, (_, values) in enumerate(rows):
        columns = [values[name] for name in plan.fields]
        if not columns or not columns[0]:
            raise plan.error(index, "is empty, which tables cannot represent; write jsonl")
        lines = [_line(cells, separator, plan, index) for cells in zip(*columns)]
        yield "".join([*([] if plan.header and index == 0 else ["\n"]), *lines])


def _line(cells: Iterable[str], separator: str, plan: WritePlan, sequence: int) -> str:
    cells = list(cells)
    if any("\n" in cell or "\r" in cell or (separator == "\t" and "\t" in cell) for cell in cells):
        raise plan.error(sequence, f"{cells!r} has a line end or a tab; write jsonl")
    if separator == ",":
        cells = ['"{}"'.format(c.replace('"', '""')) if set(c) & set(',";') else c for c in cells]
    return separator.join(cells) + "\n"


READERS: dict[str, Any] = {dialect: partial(_read, dialect) for dialect in ("csv", "tsv")}
WRITERS: dict[str, Any] = {dialect: partial(_write, dialect) for dialect in ("csv", "tsv")}
