"""Raw text in: each line becomes a sequence, cut into tokens by the model's own rule."""

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
    """What a stream of columns would tell of itself."""

    source: str
    fields: tuple[str, ...]
    label_names: tuple[str, ...] = ()
    format: str = "columns"
    separator: str = "tab"


def read_texts(
    name: str, crf: Any, handle: Callable[[Any, list[Any]], None], *, encoding: str = "utf-8"
) -> None:
    """Hand over the lines of a file as sequences, batch by batch."""
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
    """What cuts raw text for the model, which must look at one column only: raw text has no other."""
    reader = TextReader(crf)
    names = () if reader.templates is None else reader.templates.named_columns
    if list(names) != [reader.column]:
        wants = f"looks at the columns {', '.join(names)}" if names else "was trained on features"
        raise InputError(
            f"the model {wants}; raw text gives words alone: train with templates over one column"
        )
    return reader
