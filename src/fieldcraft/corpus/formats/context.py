"""The arguments of a format's reader and writer, and functions that readers share.

A reader is a function `read(batches, job) -> Iterator[Sequence]`; it sets `job.layout` before its
first sequence. A writer is a function `write(rows, plan) -> Iterator[str]`, rows being one dict of
columns (labels and predictions included) per sequence, next to the sequence itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fieldcraft.corpus.layout import LabelChoice, Layout
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.corpus.sources import Source
from fieldcraft.errors import CorpusError

Batches: TypeAlias = "Iterable[list[str]]"
Row: TypeAlias = "tuple[Sequence, dict[str, list[str]]]"
Block: TypeAlias = "tuple[list[str], list[int]]"


@dataclass
class ReadJob:
    """One pass over a source."""

    source: Source
    columns: tuple[str, ...] | None
    label: LabelChoice
    separator: str = "auto"
    docstart: str = "skip"
    comment: str | None = None
    optional_label: bool = False  # whether sources without the label column are read too
    documents: bool = False  # whether lines that open documents are marked
    sequence: str | None = None  # the column that separates the sequences of a table
    format: str = ""  # the reader's name, once it is known
    layout: Layout | None = None


@dataclass
class WritePlan:
    """One file to be written; `fields` is the order of its columns."""

    target: str
    fields: tuple[str, ...]
    label: str | None  # the single label column
    predicted: tuple[str, ...]
    separator: str = "blank"
    header: bool = True  # whether formats with a line of names write it

    def error(self, sequence: int, problem: str) -> CorpusError:
        return CorpusError(f"{self.target}: sequence {sequence}: {problem}")


def blocks(batches: Batches, *, comment: str | None) -> Iterator[Block]:
    """Lines between blank lines, with their numbers; lines that open with `comment` are dropped.

    A line is blank if it contains only blanks, tabs and carriage returns.
    """
    lines: list[str] = []
    numbers: list[int] = []
    number = 0
    for batch in batches:
        for line in batch:
            number += 1
            if line[:1] > " " or line.strip(" \t\r"):
                if comment is None or not line.startswith(comment):
                    lines.append(line)
                    numbers.append(number)
            elif lines:
                yield lines, numbers
                lines, numbers = [], []
    if lines:
        yield lines, numbers


def transposed(rows: list[list[str]]) -> list[list[str]] | None:
    """Columns of a table of rows; None if the rows differ in length."""
    try:
        return [list(column) for column in zip(*rows, strict=True)]
    except ValueError:
        return None


def named(values: list[list[str]], names: Iterable[str], layout: Layout) -> Sequence:
    """A sequence from columns in the order of `names`."""
    by_name = dict(zip(names, values))
    return Sequence(layout.columns_of(by_name), layout.labels_of(by_name))
