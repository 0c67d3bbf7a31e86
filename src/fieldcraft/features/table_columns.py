"""Features of the rows of a table: numbers, categories and words.

    number     the value less its mean, over its spread (of the training rows); nothing where it is missing
    category   1 for the value that a row has; values that training did not see have no feature
    words      1 for each word of a text, cut at blanks, in lower case

A column is one of numbers if all its cells are; which columns have words is the user's choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldcraft.corpus.row_tables import Columns, column, is_missing
from fieldcraft.errors import InputError

KINDS = ("number", "category", "words")


class TableColumn(NamedTuple):
    """A column of features.

    values : the categories or words that have a feature
    mean, spread : of the numbers
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    mean: float = 0.0
    spread: float = 1.0

    @property
    def width(self) -> int:
        """How many features it has."""
        return 1 if self.kind == "number" else len(self.values)

    def names(self) -> list[str]:
        """Names of the features."""
        return [self.name] if self.kind == "number" else [f"{self.name}={value}" for value in self.values]


class TableColumns:
    """The features of a table's rows.

    >>> made = TableColumns.learn({"year": ["1990", "2010"], "venue": ["A", "B"]})
    >>> made.names()
    ['year', 'venue=A', 'venue=B']
    >>> made.encode({"year": ["2000", "2010"], "venue": ["C", "B"]}, "the table").toarray().tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self.columns = tuple(columns)

    @classmethod
    def learn(cls, columns: Columns, *, leave: Iterable[str] = (), words: Iterable[str] = ()) -> TableColumns:
        """From training rows; ``leave`` are columns without features."""
        left, texts = set(leave), list(words)
        for name in texts:
            column(columns, name, "the table")
        made = [_learnt(name, cells, name in texts) for name, cells in columns.items() if name not in left]
        return cls([one for one in made if one.width])

    def names(self) -> list[str]:
        """Names of all features."""
        return [name for one in self.columns for name in one.names()]

    def encode(self, columns: Columns, where: str) -> Any:
        """A sparse matrix [rows, features]; InputError where a column is missing."""
        from scipy import sparse

        n = len(next(iter(columns.values()), []))
        rows: list[int] = []
        at: list[int] = []
        values: list[float] = []
        first = 0
        for one in self.columns:
            number = {value: k for k, value in enumerate(one.values)}
            for i, cell in enumerate(column(columns, one.name, where)):
                found = [] if is_missing(cell) else _features(one, number, cell, f"{where}, row {i}")
                rows += [i] * len(found)
                at += [first + k for k, _ in found]
                values += [value for _, value in found]
            first += one.width
        return sparse.csr_array((np.array(values, float), (rows, at)), shape=(n, first))

    def state(self) -> list[dict[str, Any]]:
        """For a model file."""
        return [{**one._asdict(), "values": list(one.values)} for one in self.columns]

    @classmethod
    def from_state(cls, state: Any) -> TableColumns:
        """Undo ``state``; ValueError where it is damaged."""
        made = []
        for one in state:
            values, numbers = one["values"], (one["mean"], one["spread"])
            texts = [one["name"], *values]
            if one["kind"] not in KINDS or not all(isinstance(text, str) for text in texts):
                raise ValueError("a column of the table is damaged")
            if not all(isinstance(n, float) and np.isfinite(n) for n in numbers) or one["spread"] <= 0:
                raise ValueError("a number of the table is damaged")
            made.append(TableColumn(one["name"], one["kind"], tuple(values), *numbers))
        return cls(made)


def _learnt(name: str, cells: list[Any], words: bool) -> TableColumn:
    known = [cell for cell in cells if not is_missing(cell)]
    if words:
        seen = dict.fromkeys(word for cell in known for word in str(cell).lower().split())
        return TableColumn(name, "words", tuple(seen))
    numbers = [_number(cell) for cell in known]
    if known and None not in numbers:
        values = np.array(numbers, float)
        return TableColumn(name, "number", (), float(values.mean()), float(values.std()) or 1.0)
    return TableColumn(name, "category", tuple(dict.fromkeys(map(str, known))))


def _number(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if np.isfinite(value) else None


def _features(one: TableColumn, number: dict[str, int], cell: Any, where: str) -> list[tuple[int, float]]:
    """Numbers of features with their values."""
    if one.kind == "number":
        value = _number(cell)
        if value is None:
            raise InputError(f"{where}: {cell!r} in column {one.name!r} is no number; in training all were")
        return [(0, (value - one.mean) / one.spread)]
    texts = dict.fromkeys(str(cell).lower().split()) if one.kind == "words" else [str(cell)]
    return [(number[text], 1.0) for text in texts if text in number]
