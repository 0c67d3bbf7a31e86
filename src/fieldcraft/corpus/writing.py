"""Writing a corpus, with predictions as a further column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from fieldcraft.corpus import formats
from fieldcraft.corpus.collection import Corpus, Stream, all_columns
from fieldcraft.corpus.formats.context import Row, WritePlan
from fieldcraft.corpus.partial import PartialSpelling
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.corpus.sources import extension
from fieldcraft.corpus.targets import target_name, write_text
from fieldcraft.errors import CorpusError

Predictions: TypeAlias = "Iterable[Iterable[str]] | Mapping[str, Iterable[Iterable[str]]]"


def write(
    corpus: Corpus | Stream,
    target: Any,
    *,
    format: str = "auto",
    predicted: Predictions | None = None,
    encoding: str = "utf-8",
    separator: str = "blank",
    header: bool = True,
) -> None:
    """Write a corpus to a path, `-` (standard output) or an open stream.

    format     columns, conllu, attributes, jsonl, csv or tsv; auto goes by the target's extension and is
               columns otherwise
    predicted  one list of labels per sequence, written as the column `predicted` behind the
               others; or name -> such lists for several. Formats with a fixed column for the label
               (conllu, attributes) get them there
    separator  blank or tab, for column files
    header     whether csv and tsv begin with the names of the columns

    Partial labels are written as `_` (None) and `A|B` (a set).

    A file appears whole or not at all. A Stream and predictions from a generator are
    written as they come, in constant memory.

    >>> from fieldcraft.corpus import Corpus, Sequence
    >>> corpus = Corpus([Sequence({"word": ["Rome", "fell"]}, ["B-LOC", "O"])])
    >>> write(corpus, "-", predicted=[["O", "O"]])  # doctest: +SKIP
    Rome B-LOC O
    fell O O
    """
    name = target_name(target)
    chosen = (formats.by_extension(extension(name)) or "columns") if format == "auto" else format
    row = formats.by_name(chosen)
    if separator != "blank" and "separator" not in row.options:
        raise CorpusError(f"{name}: separator= is not for format {chosen}; leave it out")
    columns = _predicted_columns(predicted)
    sequences = iter(corpus)
    # the columns of a stream are known after its first sequence is read
    first = next(sequences, None)
    plan = _plan(corpus, name, tuple(columns), separator, header=header)
    rows = _rows(chain([] if first is None else [first], sequences), corpus.label_names, columns, plan)
    write_text(target, row.write(rows, plan), encoding)


def _predicted_columns(predicted: Predictions | None) -> dict[str, Iterable[Iterable[str]]]:
    if predicted is None:
        return {}
    return dict(predicted) if isinstance(predicted, Mapping) else {"predicted": predicted}


def _plan(
    corpus: Corpus | Stream, target: str, predicted: tuple[str, ...], separator: str, *, header: bool
) -> WritePlan:
    clash = [name for name in predicted if name in corpus.fields]
    if clash:
        raise CorpusError(
            f"{target}: the corpus has a column {clash[0]!r} already; give predictions "
            "another name, predicted={'name': labels}"
        )
    label = corpus.label_names[0] if len(corpus.label_names) == 1 else None
    return WritePlan(target, (*corpus.fields, *predicted), label, predicted, separator, header)


def _rows(
    sequences: Iterable[Sequence],
    label_names: tuple[str, ...],
    predicted: dict[str, Iterable[Iterable[str]]],
    plan: WritePlan,
) -> Iterator[Row]:
    iterators = {name: iter(labels) for name, labels in predicted.items()}
    index = -1
    for index, sequence in enumerate(sequences):
        values = all_columns(sequence, label_names)
        for name in label_names:
            if not all(map(_is_text, values.get(name, ()))):
                values[name] = PartialSpelling().spell(values[name])
        for name, iterator in iterators.items():
            values[name] = _prediction(iterator, len(sequence), index, name, plan)
        yield sequence, values
    for name, iterator in iterators.items():
        if next(iterator, None) is not None:
            raise CorpusError(f"{plan.target}: {name} has more than {index + 1} sequences")


def _is_text(label: Any) -> bool:
    return isinstance(label, str)


def _prediction(
    iterator: Iterator[Iterable[str]], length: int, index: int, name: str, plan: WritePlan
) -> list[str]:
    labels = next(iterator, None)
    if labels is None:
        raise plan.error(index, f"{name} ends before it; give one list of labels per sequence")
    strings = [str(label) for label in labels]
    if len(strings) != length:
        raise plan.error(index, f"{name} has {len(strings)} labels where {length} were expected")
    return strings
