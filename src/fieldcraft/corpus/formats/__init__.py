"""The table of file formats; a new one is a file here and a row below."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fieldcraft.corpus.formats import attributes, columns, conllu, delimited, jsonl
from fieldcraft.corpus.formats.context import Batches, ReadJob, Row, WritePlan
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import CorpusError


class Format(NamedTuple):
    """A reader, a writer, their file extensions and options; ``label`` is the label column by default."""

    read: Callable[[Batches, ReadJob], Iterator[Sequence]]
    write: Callable[[Iterable[Row], WritePlan], Iterator[str]]
    extensions: tuple[str, ...]
    options: frozenset[str]
    label: str | int = -1


FORMATS = {
    "columns": Format(
        columns.read, columns.write, (), frozenset({"separator", "docstart", "comment", "documents"})
    ),
    "conllu": Format(conllu.read, conllu.write, ("conllu",), frozenset({"documents"}), label="upos"),
    "attributes": Format(attributes.read, attributes.write, ("crfsuite", "iwa"), frozenset()),
    "jsonl": Format(jsonl.read, jsonl.write, ("jsonl", "ndjson"), frozenset()),
    "csv": Format(delimited.READERS["csv"], delimited.WRITERS["csv"], ("csv",), frozenset({"sequence"})),
    "tsv": Format(delimited.READERS["tsv"], delimited.WRITERS["tsv"], (), frozenset({"sequence"})),
}
_CONLLU_LINE = re.compile(r"# ?(sent_id|text|newdoc|global\.columns)\b|\d+(-\d+)?(\t[^\t]*){9}$")


def by_name(name: str) -> Format:
    """The row of a format."""
    if name not in FORMATS:
        raise CorpusError(f"format {name!r} is unknown; use auto or one of {', '.join(FORMATS)}")
    return FORMATS[name]


def by_extension(extension: str) -> str | None:
    """The format of an extension (`conllu`)."""
    return next((name for name, row in FORMATS.items() if extension in row.extensions), None)


def by_content(lines: Iterable[str]) -> str:
    """The format that the first non-blank line looks like; attribute files are not detected."""
    first = next((line.rstrip(" \t\r") for line in lines if line.strip()), "")
    if first.startswith("{") and first.endswith("}"):
        return "jsonl"
    return "conllu" if _CONLLU_LINE.match(first) else "columns"


def names_columns(lines: Iterable[str], columns: Iterable[str] | None, sequence: str | None = None) -> bool:
    """Whether the first non-blank line holds all of these names, between tabs."""
    first = next((line.rstrip("\r") for line in lines if line.strip()), "")
    wanted = {*(columns or ()), *([] if sequence is None else [sequence])}
    return bool(wanted) and wanted <= set(first.split("\t"))
