"""Attribute files as CRFsuite reads them: a label, then attributes, separated by tabs.

    @weight:2
    B-LOC <TAB> word=Rome <TAB> length:4
    O <TAB> word=fell

An attribute is `name` (value 1) or `name:value`; `\\:` and `\\\\` denote a colon and a
backslash in a name or label. `@weight:v`, before a label or on a separate line, is the weight of
the sequence. An attribute that occurs twice in a token counts twice, so its values are added.
The attributes are stored in `Sequence.attributes`, one dict per token; there are no columns. On writing,
predictions replace the label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from fieldcraft.corpus.formats.context import Batches, Block, ReadJob, Row, WritePlan
from fieldcraft.corpus.formats.context import blocks as all_blocks
from fieldcraft.corpus.layout import choose
from fieldcraft.corpus.sequences import Sequence

LABEL = "label"
_ESCAPED = re.compile(r"\\([\\:])")
_PART = re.compile(r"((?:\\[\\:]|[^:])*)(?::(.*))?", re.DOTALL)


def read(batches: Batches, job: ReadJob) -> Iterator[Sequence]:
    """Sequences with attributes and labels."""
    label = LABEL if job.label is None else job.label
    job.layout = choose((LABEL,), (), label, job.source.name)
    for block in all_blocks(batches, comment=None):
        sequence = _sequence(block, job)
        if len(sequence):
            yield sequence


def write(rows: Iterable[Row], plan: WritePlan) -> Iterator[str]:
    """A line per token, opened by the prediction where there is one, else by the label."""
    for index, (sequence, values) in zip(count(), rows):
        name = plan.predicted[-1] if plan.predicted else plan.label
        if sequence.attributes is None or name is None or not len(sequence):
            raise plan.error(index, "attribute files need attributes and a label for each token")
        head = [] if sequence.weight == 1.0 else [f"@weight:{sequence.weight!r}"]
        lines = [
            "\t".join([_label(label, plan, index), *_attributes(token, plan, index)])
            for label, token in zip(values[name], sequence.attributes)
        ]
        yield "\n".join([*head, *lines, "", ""])


def _sequence(block: Block, job: ReadJob) -> Sequence:
    labels: list[str] = []
    tokens: list[dict[str, float]] = []
    sequence = Sequence({}, labels, attributes=tokens)
    for line, number in zip(*block):
        fields = [field for field in line.rstrip("\r").split("\t") if field]
        while fields and fields[0].startswith("@"):
            sequence.weight = _weight(fields.pop(0), number, job)
        if fields:
            labels.append(_unescape(fields[0]))
            tokens.append(_token(fields[1:], number, job))
    return sequence


def _token(fields: list[str], number: int, job: ReadJob) -> dict[str, float]:
    token: dict[str, float] = {}
    for field in fields:
        name, value = (field, 1.0) if ":" not in field else _split(field, number, job)
        name = _unescape(name)
        token[name] = token.get(name, 0.0) + value
    return token


def _split(field: str, number: int, job: ReadJob) -> tuple[str, float]:
    match = _PART.fullmatch(field)
    assert match is not None  # the pattern matches every string
    name, value = match.groups()
    try:
        return name, 1.0 if not value else float(value)
    except ValueError:
        raise job.source.error(
            number,
            f"attribute {field!r}: {value!r} is not a number; write a colon within a name as \\:",
        ) from None


def _weight(field: str, number: int, job: ReadJob) -> float:
    name, value = _split(field, number, job)
    if name != "@weight":
        raise job.source.error(number, f"declaration {name!r} is unknown; only @weight is")
    return value


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _label(text: str, plan: WritePlan, sequence: int) -> str:
    if text.startswith("@") or not text.strip(" "):
        raise plan.error(sequence, f"label {text!r} would be read as a declaration or as nothing; rename it")
    return _escape(text, plan, sequence)


def _escape(text: str, plan: WritePlan, sequence: int) -> str:
    if not text or any(end in text for end in "\t\r\n"):
        raise plan.error(sequence, f"{text!r} cannot be written to an attribute file; rename it")
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _attributes(token: dict[str, float], plan: WritePlan, sequence: int) -> Iterator[str]:
    for name, value in token.items():
        escaped = _escape(name, plan, sequence)
        yield escaped if value == 1.0 else f"{escaped}:{value!r}"
