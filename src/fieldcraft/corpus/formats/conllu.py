"""CoNLL-U: ten columns separated by tabs, comments before each sentence.

Lines of multiword tokens (id `3-4`) and empty nodes (id `5.1`) are skipped: they are no words.
`columns=` keeps some of the ten. Comments are stored in `Sequence.info["comments"]` and are written
back; skipped lines are not. Predictions are written in place of the label column, since the
format has no room for an eleventh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from fieldcraft.corpus.document_lines import opens_document
from fieldcraft.corpus.formats.context import Batches, Block, ReadJob, Row, WritePlan, named
from fieldcraft.corpus.formats.context import blocks as all_blocks
from fieldcraft.corpus.layout import choose
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import CorpusError

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def read(batches: Batches, job: ReadJob) -> Iterator[Sequence]:
    """Sequences of words; sentences without any are left out."""
    layout = job.layout = choose(FIELDS, job.columns, job.label, job.source.name)
    for block in all_blocks(batches, comment=None):
        comments = [line.rstrip("\r") for line in block[0] if line[0] == "#"]
        rows = _words(block, job)
        if rows:
            sequence = named([list(column) for column in zip(*rows)], FIELDS, layout)
            sequence.info = {"comments": comments} if comments else None
            opened = next(filter(opens_document, comments), None) if job.documents else None
            if opened is not None:
                sequence.info = {**(sequence.info or {}), "document": opened}
            yield sequence


def write(rows: Iterable[Row], plan: WritePlan) -> Iterator[str]:
    """Ten columns per word; `_` where a column is not known."""
    unknown = [name for name in plan.fields if name not in FIELDS and name not in plan.predicted]
    if unknown:
        raise CorpusError(
            f"{plan.target}: CoNLL-U has no column {unknown[0]!r}; its columns are {', '.join(FIELDS)}"
        )
    for index, (sequence, values) in zip(count(), rows):
        _place_prediction(values, plan)
        size = len(sequence)
        columns = [values.get(name) or _default(name, size) for name in FIELDS]
        if size == 0 or any("\t" in v or "\n" in v or not v for col in columns for v in col):
            raise plan.error(index, "fields must hold something but no tab or line end")
        comments = (sequence.info or {}).get("comments", [])
        yield "\n".join([*comments, *map("\t".join, zip(*columns)), "", ""])


def _words(block: Block, job: ReadJob) -> list[list[str]]:
    rows = []
    for line, number in zip(*block):
        if line[0] == "#":
            continue
        row = line.rstrip("\r").split("\t")
        if len(row) != len(FIELDS):
            raise job.source.error(
                number,
                f"{len(row)} columns where {len(FIELDS)} were expected; "
                "CoNLL-U parts its columns with one tab",
            )
        if "-" not in row[0] and "." not in row[0]:
            rows.append(row)
    return rows


def _place_prediction(values: dict[str, list[str]], plan: WritePlan) -> None:
    for name in plan.predicted:
        place = name if name in FIELDS else plan.label
        if place is None:
            raise CorpusError(
                f"{plan.target}: CoNLL-U has no column {name!r}; read the corpus with label= the "
                "column that was predicted"
            )
        values[place] = values.pop(name)


def _default(name: str, size: int) -> list[str]:
    return [str(position) for position in range(1, size + 1)] if name == "id" else ["_"] * size
