"""Raw text in: each line becomes a sequence, cut into tokens by the model's own rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fieldcraft.cli.reading import Batch, waiting_input
from fieldcraft.corpus import Sequence
from fieldcraft.corpus.sources import Source
from fieldcraft.errors import InputError


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
    column, cut = word_column(crf), tokenizer_of(crf)
    batch = Batch(handle)
    source = Source(waiting_input(name, batch.close), encoding)
    batch.stream = TextStream(source.name, (column,))
    for lines in source.batches():
        for line in lines:
            sequence = text_sequence(line, column, cut)
            batch.add(sequence, len(sequence) + 1)
    batch.close()


def text_sequence(text: str, column: str, cut: Callable[[str], list[Any]]) -> Sequence:
    """A text as a sequence of one column; its information has the text and the tokens' places in it."""
    tokens = cut(text)
    places = [[token.start, token.end] for token in tokens]
    return Sequence({column: [token.text for token in tokens]}, info={"text": text, "offsets": places})


def tokenizer_of(crf: Any) -> Callable[[str], list[Any]]:
    """The rule that the model was given."""
    from fieldcraft.corpus.tokenising import resolve_tokenizer

    return resolve_tokenizer(crf.tokenizer)


def word_column(crf: Any) -> str:
    """The one column that the model looks at; raw text has no other."""
    names = list(getattr(crf.encoder_.templates, "named_columns", ()))
    if len(names) != 1:
        wants = f"looks at the columns {', '.join(names)}" if names else "was trained on features"
        raise InputError(
            f"the model {wants}; raw text gives words alone: train with templates over one column"
        )
    return str(names[0])
