"""Reading of raw text: each line becomes a sequence, split by the tokenizer of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fieldcraft.cli.reading import Batch, waiting_input
from fieldcraft.corpus.sources import Source
from fieldcraft.errors import InputError
from fieldcraft.models.text import TextReader


@dataclass(frozen=True)
class TextStream:
    """The attributes of a stream of columns."""

    source: str
    fields: tuple[str, ...]
    label_names: tuple[str, ...] = ()
    format: str = "columns"
    separator: str = "tab"


def read_texts(
    name: str, crf: Any, handle: Callable[[Any, list[Any]], None], *, encoding: str = "utf-8"
) -> None:
    """Call ``handle`` with the lines of a file as sequences, batch by batch."""
    reader = reader_of(crf)
    batch = Batch(handle)
    source = Source(waiting_input(name, batch.close), encoding)
    batch.stream = TextStream(source.name, (reader.column,))
    for lines in source.batches():
        for line in lines:
            sequence = reader.sequence(line)
            batch.add(sequence, len(sequence) + 1)
    batch.close()


def reader_of(crf: Any) -> TextReader:
    """The reader of raw text for a model, whose templates must use one column only."""
    reader = TextReader(crf)
    names = () if reader.templates is None else reader.templates.named_columns
    if list(names) != [reader.column]:
        wants = f"looks at the columns {', '.join(names)}" if names else "was trained on features"
        raise InputError(f"the model {wants}; raw text has words only: train with templates over one column")
    return reader
