"""JSON lines: one object per sequence, one array per column.

    {"id": "a7", "word": ["Rome", "fell"], "ner": ["B-LOC", "O"]}

Without `columns=` every key of the first object with an array of strings (or whole numbers)
is a column, and the other objects must have it too. `attributes` may have one object of numbers per
token and `weight` a number. Everything else is stored in `Sequence.info` and is written back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from fieldcraft.corpus.formats.context import Batches, ReadJob, Row, WritePlan
from fieldcraft.corpus.layout import Layout, choose
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import CorpusError

ATTRIBUTES = "attributes"


def read(batches: Batches, job: ReadJob) -> Iterator[Sequence]:
    """One sequence per line; blank lines are skipped."""
    for number, line in enumerate(chain.from_iterable(batches), 1):
        if not line.strip():
            continue
        record = _record(line, number, job)
        where = f"{job.source.name}:{number}"
        if job.layout is None:
            names = [name for name in record if name != ATTRIBUTES and _strings(record[name]) is not None]
            job.layout = choose(names, job.columns, job.label, where, optional=job.optional_label)
        yield _sequence(record, job.layout, where)


def write(rows: Iterable[Row], plan: WritePlan) -> Iterator[str]:
    """One object per line, columns in the corpus's order."""
    for sequence, values in rows:
        record = dict(sequence.info or {})
        record.update((name, values[name]) for name in plan.fields)
        if sequence.attributes is not None:
            record[ATTRIBUTES] = sequence.attributes
        if sequence.weight != 1.0:
            record["weight"] = sequence.weight
        yield json.dumps(record, ensure_ascii=False, default=str) + "\n"


def _record(line: str, number: int, job: ReadJob) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise job.source.error(number, f"no JSON object ({error}); write one a line") from None
    if not isinstance(record, dict):
        raise job.source.error(
            number, f"a JSON {type(record).__name__} where an object was expected; write one a line"
        )
    return record


def _sequence(record: dict[str, Any], layout: Layout, where: str) -> Sequence:
    values: dict[str, list[str]] = {}
    for name in (*layout.observed, *layout.labels):
        strings = _strings(record.pop(name, None))
        if strings is None:
            raise CorpusError(f"{where}: {name!r} is missing or not an array of strings; give one")
        values[name] = strings
    sequence = Sequence(layout.columns_of(values), layout.labels_of(values))
    if ATTRIBUTES in record:
        sequence.attributes = _attributes(record.pop(ATTRIBUTES), where)
    if isinstance(record.get("weight"), (int, float)):
        sequence.weight = _weight(record.pop("weight"), where)
    sequence.info = record or None
    return sequence.check(where)


def _weight(value: float, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise CorpusError(f"{where}: the weight is too large; give a number below 1e308") from None


def _strings(value: Any) -> list[str] | None:
    """The array with whole numbers spelled out; None if it has other items."""
    if not isinstance(value, list):
        return None
    if all(type(item) is str for item in value):
        return value
    return [str(item) for item in value] if all(type(i) in (str, int) for i in value) else None


def _attributes(value: Any, where: str) -> list[dict[str, float]]:
    try:
        return [{name: float(number) for name, number in token.items()} for token in value]
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise CorpusError(
            f"{where}: 'attributes' is not an array of objects of numbers; give one object per token"
        ) from None
