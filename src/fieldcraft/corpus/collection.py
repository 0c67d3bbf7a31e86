"""A corpus in memory (`Corpus`) and one that is read each time it is iterated (`Stream`).

`Corpus` behaves as a list of `Sequence`: len, iteration, indexing returns a sequence, with a slice or a
list of indices a `Corpus`. `fields` has the order of all columns in the source, labels
included, so that what was read can be written back in the same order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import replace
from typing import Any, TypeAlias, overload

from fieldcraft.corpus import schemes
from fieldcraft.corpus.formats.context import ReadJob
from fieldcraft.corpus.formats.tables import read_table
from fieldcraft.corpus.layout import FIRST, LabelChoice, Layout, choose
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.corpus.spans import Span
from fieldcraft.errors import CorpusError

Respell: TypeAlias = Callable[[list[str]], list[Any]]


class Corpus(AbstractSequence[Sequence]):
    """A list of sequences that share their columns.

    sequences  the sequences
    label      name of the label column, a tuple of names if there are several, or None
    fields     names of all columns in the order of the source (default: columns, then labels)
    source     where the data come from, in words or as a path

    >>> corpus = Corpus([Sequence({"word": ["Rome"]}, ["B-LOC"])], label="ner")
    >>> corpus.column_names, corpus.labels, corpus.spans()
    (['word'], [['B-LOC']], [[Span(start=0, end=1, label='LOC')]])
    """

    def __init__(
        self,
        sequences: Iterable[Sequence],
        *,
        label: str | tuple[str, ...] | None = None,
        fields: tuple[str, ...] | None = None,
        source: str | None = None,
    ) -> None:
        self._sequences = sequences if isinstance(sequences, list) else list(sequences)
        self._label = label
        self._fields = fields
        self.source = source

    def __len__(self) -> int:
        return len(self._sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._sequences)

    @overload
    def __getitem__(self, index: int) -> Sequence: ...
    @overload
    def __getitem__(self, index: slice | Iterable[int]) -> Corpus: ...
    def __getitem__(self, index: int | slice | Iterable[int]) -> Sequence | Corpus:
        if isinstance(index, slice):
            return self._like(self._sequences[index])
        if isinstance(index, Iterable):
            return self._like([self._sequences[operator.index(i)] for i in index])
        return self._sequences[operator.index(index)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        return self._sequences == other._sequences and self.label_names == other.label_names

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Corpus) -> Corpus:
        """The sequences of both, which must have the same columns."""
        if not isinstance(other, Corpus):
            return NotImplemented
        if not self or not other:  # an empty corpus has any columns
            return self or other
        if (self.fields, self.label_names) != (other.fields, other.label_names):
            raise CorpusError(
                f"columns {', '.join(other.fields)} (labels: {', '.join(other.label_names)}) where the "
                f"first corpus has {', '.join(self.fields)} (labels: {', '.join(self.label_names)}); "
                "read both with the same columns= and label="
            )
        source = ", ".join(name for name in dict.fromkeys((self.source, other.source)) if name)
        joined = [*self._sequences, *other._sequences]
        return Corpus(joined, label=self._label, fields=self.fields, source=source or None)

    def __repr__(self) -> str:
        source = f", source={self.source!r}" if self.source else ""
        return f"<Corpus of {len(self)} sequences, {self.n_tokens} tokens{source}>"

    def _repr_html_(self) -> str:
        from fieldcraft.corpus.notebooks import corpus_html

        return corpus_html(self)

    def _like(self, sequences: list[Sequence]) -> Corpus:
        return Corpus(sequences, label=self._label, fields=self._fields, source=self.source)

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self._sequences))

    @property
    def column_names(self) -> list[str]:
        """Names of the observed columns; labels are not among them."""
        return list(self._sequences[0].columns) if self._sequences else []

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the label columns; empty where nothing is labelled."""
        if isinstance(self._label, str):
            return (self._label,)
        if self._label is not None:
            return self._label
        return tuple(self._sequences[0].label_columns()) if self._sequences else ()

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns in the order of the source."""
        return self._fields or (*self.column_names, *self.label_names)

    @property
    def labels(self) -> list[Any]:
        """One list of labels per sequence (one dict of lists where there are several columns)."""
        for index, sequence in enumerate(self._sequences):
            if sequence.labels is None:
                raise CorpusError(
                    f"sequence {index} has no labels; read the corpus with label= "
                    f"(its columns are {', '.join(self.column_names)})"
                )
        return [sequence.labels for sequence in self._sequences]

    def column(self, name: str) -> list[list[str]]:
        """One list of strings per sequence."""
        if name == FIRST and FIRST not in self.column_names:
            name = next(iter(self.column_names), name)
        if self._sequences and name not in self._sequences[0].columns:
            known = ", ".join(self.column_names)
            raise CorpusError(f"column {name!r} is not one of {known}; name one of them")
        return [sequence.columns[name] for sequence in self._sequences]

    def spans(self, scheme: str = "conlleval", *, label: str | None = None) -> list[list[Span]]:
        """One list of spans per sequence; `label` picks one of several label columns."""
        return [sequence.spans(scheme, label=label) for sequence in self._sequences]

    def with_label(self, label: LabelChoice) -> Corpus:
        """The same corpus with other columns as labels, as if read with this `label=`."""
        layout = choose(self.fields, None, label, self.source or "corpus")
        rows = [all_columns(sequence, self.label_names) for sequence in self._sequences]
        sequences = [
            replace(old, columns=layout.columns_of(row), labels=layout.labels_of(row))
            for old, row in zip(self._sequences, rows)
        ]
        return Corpus(sequences, label=layout.label, fields=layout.fields, source=self.source)

    def with_column(
        self, name: str, values: Iterable[Iterable[str]] | Callable[[Sequence], Iterable[str]]
    ) -> Corpus:
        """The same corpus with one more column, or another content of a column.

        values  one list of strings per sequence, or a function from a sequence to such a list

        >>> corpus = Corpus.from_columns({"word": [["in", "Rome"]]}, [["O", "B-LOC"]])
        >>> corpus.with_column("lower", lambda s: [w.lower() for w in s.columns["word"]]).column("lower")
        [['in', 'rome']]
        """
        if name in self.label_names:
            raise CorpusError(f"{name!r} is the label column; change labels with respelled or with_label")
        lists = map(values, self._sequences) if callable(values) else iter(values)
        rows = [list(row) for row in lists]
        if len(rows) != len(self):
            raise CorpusError(f"{name!r} has {len(rows)} lists for {len(self)} sequences; give one for each")
        sequences = []
        for index, (old, row) in enumerate(zip(self._sequences, rows)):
            _check_strings(name, row, index)
            new = replace(old, columns={**old.columns, name: row})
            sequences.append(new.check(f"sequence {index}"))
        observed = [field for field in self.fields if field not in self.label_names]
        behind = self.fields[len(observed) :] == self.label_names  # labels come last, and stay there
        order = (*observed, name, *self.label_names) if behind else (*self.fields, name)
        fields = self.fields if name in self.fields else order
        return Corpus(sequences, label=self._label, fields=fields, source=self.source)

    def to_pandas(self, sequence: str = "sequence") -> Any:
        """A DataFrame with one row per token: ``to_table`` for pandas, which must be installed.

        ``fc.read(frame, sequence="sequence", label=…)`` reads it back.
        """
        from pandas import DataFrame  # type: ignore[import-untyped]

        return DataFrame(self.to_table(sequence))

    def to_scheme(self, scheme: str) -> Corpus:
        """The same corpus with its labels spelled in another scheme."""
        return self.respelled(lambda labels: schemes.convert(labels, "conlleval", scheme))

    def respelled(self, respell: Respell) -> Corpus:
        """The same corpus with a function applied to each label column."""
        where = (f"sequence {index}, " for index in range(len(self)))
        return self._like([respelled(s, respell, w) for s, w in zip(self._sequences, where)])

    def to_table(self, sequence: str = "sequence") -> dict[str, list[Any]]:
        """One row per token: the number of its sequence, then the columns; for pandas and Arrow.

        sequence  the name of the column with the numbers

        `pandas.DataFrame(corpus.to_table())`, `pyarrow.table(corpus.to_table())`
        """
        if sequence in self.fields:
            raise CorpusError(f"the corpus has a column {sequence!r}; pass sequence= another name")
        table: dict[str, list[Any]] = {name: [] for name in (sequence, *self.fields)}
        for index, tokens in enumerate(self._sequences):
            table[sequence] += [index] * len(tokens)
            row = all_columns(tokens, self.label_names)
            for name in self.fields:
                table[name] += row[name]
        return table

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, AbstractSequence[AbstractSequence[str]]],
        labels: AbstractSequence[AbstractSequence[str]] | None = None,
        *,
        label: str = "label",
        source: str | None = None,
    ) -> Corpus:
        """From one list of lists of strings per column.

        >>> Corpus.from_columns({"word": [["in", "Rome"]]}, [["O", "B-LOC"]]).labels
        [['O', 'B-LOC']]
        """
        values = dict(columns) if labels is None else {**columns, label: labels}
        sequences, layout = read_table(values, label=None if labels is None else label)
        return cls(sequences, label=layout.label, fields=layout.fields, source=source)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        sequence: str | None = None,
        columns: Iterable[str] | None = None,
        label: LabelChoice = None,
    ) -> Corpus:
        """From a pandas DataFrame, an Arrow table or a dict of lists.

        sequence  the column with the sequences' ids if each row is a token; without it each
                  row is a sequence and its cells are lists
        """
        sequences, layout = read_table(table, columns, label, sequence)
        source = f"<{type(table).__name__}>"
        return cls(sequences, label=layout.label, fields=layout.fields, source=source)


class Stream:
    """Sequences that are read again whenever they are iterated; memory stays constant.

    A stream over standard input or an open file can be iterated once. Column names are known
    once the first sequence was read.
    """

    def __init__(
        self,
        start: Callable[[], tuple[ReadJob, Iterator[Sequence]]],
        source: str,
        *,
        respell: Respell | None = None,
    ) -> None:
        self._start = start
        self._respell = respell
        self._layout: Layout | None = None
        self.format = self.separator = ""  # known, as the columns are, once a sequence was read
        self.source = source

    def __iter__(self) -> Iterator[Sequence]:
        job, sequences = self._start()
        for index, sequence in enumerate(sequences):
            self._layout, self.format, self.separator = job.layout, job.format, job.separator
            if self._respell is None:
                yield sequence
            else:
                where = f"{self.source}: sequence {index}, "
                yield respelled(sequence, self._respell, where)

    def __repr__(self) -> str:
        return f"<Stream of sequences from {self.source}>"

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns in the order of the source; empty before the first sequence."""
        return self._layout.fields if self._layout else ()

    @property
    def column_names(self) -> list[str]:
        """Names of the observed columns; empty before the first sequence."""
        return list(self._layout.observed) if self._layout else []

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the label columns; empty before the first sequence."""
        return self._layout.labels if self._layout else ()

    def read(self) -> Corpus:
        """Reads everything; equal strings become one object."""
        pool: dict[str, str] = {}
        sequences = [_shared(sequence, pool) for sequence in self]
        label = self._layout.label if self._layout else None
        return Corpus(sequences, label=label, fields=self.fields, source=self.source)


def _check_strings(name: str, row: list[Any], index: int) -> None:
    for token, value in enumerate(row):
        if not isinstance(value, str):
            raise CorpusError(
                f"sequence {index}, token {token}: {name} is {value!r}; columns have strings: use str(value)"
            )


def _shared(sequence: Sequence, pool: dict[str, str]) -> Sequence:
    """Replace each string by the first one that equalled it."""
    for columns in (sequence.columns, sequence.label_columns()):
        for column in columns.values():
            column[:] = map(pool.setdefault, column, column)
    return sequence


def all_columns(sequence: Sequence, label_names: tuple[str, ...]) -> dict[str, list[str]]:
    """Every column of a sequence by name, the label columns included."""
    return {**sequence.columns, **sequence.label_columns(*label_names[:1])}


def respelled(sequence: Sequence, respell: Respell, where: str) -> Sequence:
    """The sequence with its labels spelled otherwise; `where` opens the messages."""

    def spelled(labels: list[str]) -> list[str]:
        try:
            return respell(labels)
        except CorpusError as error:
            raise CorpusError(f"{where}{error}") from None

    if isinstance(sequence.labels, dict):
        several = {name: spelled(labels) for name, labels in sequence.labels.items()}
        return replace(sequence, labels=several)
    return replace(sequence, labels=spelled(sequence.label_list()))
