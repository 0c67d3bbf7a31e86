"""Reads a corpus: opens the source, detects its format, collects or streams its sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial as partial_
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from fieldcraft.corpus import formats, schemes
from fieldcraft.corpus.collection import Corpus, Respell, Stream, respelled
from fieldcraft.corpus.documents import as_documents
from fieldcraft.corpus.formats.context import ReadJob
from fieldcraft.corpus.formats.tables import is_table
from fieldcraft.corpus.layout import LabelChoice
from fieldcraft.corpus.partial import PartialSpelling
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.corpus.sources import Source, extension, is_source
from fieldcraft.errors import CorpusError, EmptyCorpusError

if TYPE_CHECKING:
    from typing_extensions import Unpack


AUTO = "auto"  # the label column that a format has by default
DEFAULT = "default"  # the same for formats whose columns have fixed names, elsewhere no labels


class ReadOptions(TypedDict, total=False):
    """The arguments of ``read`` that both of its forms take."""

    columns: str | Iterable[str] | None
    label: LabelChoice
    format: str
    scheme: str | None
    encoding: str
    separator: str
    docstart: str
    documents: bool
    comment: str | None
    sequence: str | None
    optional_label: bool
    partial: bool
    unknown: str
    between: str


@overload
def read(source: Any, *, lazy: Literal[False] = ..., **options: Unpack[ReadOptions]) -> Corpus: ...
@overload
def read(source: Any, *, lazy: Literal[True], **options: Unpack[ReadOptions]) -> Stream: ...
def read(
    source: Any,
    *,
    columns: str | Iterable[str] | None = None,
    label: LabelChoice = DEFAULT,
    format: str = "auto",
    lazy: bool = False,
    scheme: str | None = None,
    encoding: str = "utf-8",
    separator: str = "auto",
    docstart: str = "skip",
    documents: bool = False,
    comment: str | None = None,
    sequence: str | None = None,
    optional_label: bool = False,
    partial: bool = False,
    unknown: str = "_",
    between: str = "|",
) -> Corpus | Stream:
    """Read a corpus from a file, a stream or a table.

    source     a path (gzip is recognised), `-` for standard input, an open stream, or a pandas
               DataFrame, an Arrow table or a dict of lists
    columns    names of a column file's columns (default word, c1, c2, ..., label; c0 is the first one,
               whatever its name); for formats that carry names,
               the ones to keep. A string is cut at its blanks: "word pos ner"
    label      name (or position, -1 is the last) of the label column, several, or None for unlabelled text.
               "default" is upos in CoNLL-U (if `columns` keeps it) and None elsewhere, "auto" is upos in
               CoNLL-U and the last column elsewhere
    format     columns, conllu, attributes, jsonl, csv, tsv (both with a line of names); auto goes by
               extension, then by content; a `.tsv` is columns unless its first line has the names `columns`
    lazy       a Stream that reads as it is iterated, in constant memory
    scheme     convert the labels to io, iob1, iob2, iobes or bilou
    separator, docstart, comment    for column files, see `fieldcraft.corpus.formats.columns`
    documents  the sentences between lines -DOCSTART- (`# newdoc`, `# doc`) are one sequence, with a column
               `sentence` that numbers them; for column files and CoNLL-U
    sequence   for tables, csv and tsv with one row per token: the column with the sequences' ids
    optional_label  a file without the label column is read too, as unlabelled text
    partial    labels may be `unknown` (read as None) or candidates with `between` between them (a set)

    >>> import io
    >>> text = io.StringIO("Rome NNP I-LOC\\nfell VBD O\\n")
    >>> read(text, columns="word pos ner", label="ner", scheme="iob2").labels
    [['B-LOC', 'O']]
    """
    names = tuple(columns.split() if isinstance(columns, str) else columns) if columns else None
    respell = _respelling(scheme, PartialSpelling(unknown, between).check() if partial else None)
    if is_table(source):
        if documents:
            raise CorpusError("documents= is for column files and CoNLL-U; name the column with sequence=")
        label = {AUTO: -1, DEFAULT: None}.get(label, label) if isinstance(label, str) else label
        corpus = Corpus.from_table(source, sequence=sequence, columns=names, label=label)
        return corpus.respelled(respell) if respell else corpus
    if not is_source(source):
        raise CorpusError(
            f"a {type(source).__name__} cannot be read; give a path, '-', an open stream or a table"
        )
    if format != "auto":
        formats.by_name(format)  # a wrong name fails here, not when a stream is read
    options = (separator, docstart, comment, optional_label, documents, sequence)
    job = ReadJob(Source(source, encoding), names, label, *options)
    if documents:  # labels are respelled before sentences are joined
        return _whole(Stream(lambda: _start(job, format, respell), job.source.name), lazy=lazy)
    stream = Stream(lambda: _start(job, format), job.source.name, respell=respell)
    return _whole(stream, lazy=lazy)


def _whole(stream: Stream, *, lazy: bool) -> Corpus | Stream:
    return stream if lazy else stream.read()


def _respelling(scheme: str | None, partial: PartialSpelling | None) -> Respell | None:
    """The function that is applied to label columns after reading."""
    if scheme is None:
        return None if partial is None else partial.parse
    if partial is not None:
        raise CorpusError("scheme= with partial=: sets of labels have no scheme; convert the file first")
    return lambda labels: schemes.convert(labels, "conlleval", scheme)


def _start(job: ReadJob, format: str, respell: Respell | None = None) -> tuple[ReadJob, Iterator[Sequence]]:
    """A new pass over the source: its job, which is updated while reading, and its sequences."""
    batches = job.source.batches()
    if format == "auto":
        format, batches = _detected(job, batches)
    job = replace(job, layout=None, format=format)
    row = formats.by_name(format)
    if job.label == AUTO:
        job.label = row.label
    elif job.label == DEFAULT:
        fixed = isinstance(row.label, str) and row.label in (job.columns or (row.label,))
        job.label = row.label if fixed else None
    for name in ("separator", "docstart", "comment", "documents", "sequence"):
        if getattr(job, name) != getattr(ReadJob, name) and name not in row.options:
            raise CorpusError(f"{job.source.name}: {name}= is not for format {format}; leave it out")
    sequences = _sequences(row.read(batches, job), job.source)
    if not job.documents:
        return job, sequences
    spelled = partial_(respelled, respell=respell, where=f"{job.source.name}: ") if respell else _as_it_is
    return job, as_documents(sequences, job, spelled)


def _as_it_is(sequence: Sequence) -> Sequence:
    return sequence


def _detected(job: ReadJob, batches: Iterator[list[str]]) -> tuple[str, Iterator[list[str]]]:
    by_name = formats.by_extension(extension(job.source.name))
    if by_name:
        return by_name, batches
    head: list[list[str]] = []
    for batch in batches:
        head.append(batch)
        if any(line.strip() for line in batch):
            break
    lines = list(chain.from_iterable(head))
    is_table = extension(job.source.name) == "tsv" and formats.names_columns(lines, job.columns, job.sequence)
    return "tsv" if is_table else formats.by_content(lines), chain(head, batches)


def _sequences(sequences: Iterator[Sequence], source: Source) -> Iterator[Sequence]:
    empty = True
    for sequence in sequences:
        empty = False
        yield sequence
    if empty:
        raise EmptyCorpusError(f"{source.name}:1: no sequence was found; give a file with at least one token")
