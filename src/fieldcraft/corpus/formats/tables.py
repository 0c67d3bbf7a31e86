"""Tables in memory: a pandas DataFrame, an Arrow table, a dict of lists.

one row per token      with `sequence=`, the column with the sequences' ids; rows of one
                       sequence are adjacent
one row per sequence   without it; every cell is then a list of strings
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from fieldcraft.corpus.layout import LabelChoice, Layout, choose
from fieldcraft.corpus.sequences import Sequence
from fieldcraft.errors import CorpusError


def is_table(value: object) -> bool:
    """Whether `value` is one of the tables that can be read."""
    return (
        isinstance(value, Mapping)
        or hasattr(value, "to_pydict")
        or (hasattr(value, "columns") and hasattr(value, "iloc"))
    )


def read_table(
    table: Any,
    columns: Iterable[str] | None = None,
    label: LabelChoice = None,
    sequence: str | None = None,
) -> tuple[list[Sequence], Layout]:
    """The table's sequences and its layout."""
    where = f"<{type(table).__name__}>"
    names = [name for name in _names(table) if name != sequence]
    layout = choose(names, columns, label, where)
    cells = {name: _cells(table, name) for name in layout.fields}
    if sequence is None:
        _check_sizes(cells, where)
        return _from_lists(cells, layout, where), layout
    if sequence not in _names(table):
        raise CorpusError(
            f"{where}: sequence column {sequence!r} is not one of {', '.join(_names(table))}; "
            "name one of them"
        )
    ids = _cells(table, sequence)
    _check_sizes({sequence: ids, **cells}, where)
    return _from_tokens(cells, ids, layout, where), layout


def _check_sizes(cells: dict[str, list[Any]], where: str) -> None:
    size = len(next(iter(cells.values()), []))
    for name, column in cells.items():
        if len(column) != size:
            raise CorpusError(
                f"{where}: column {name!r} has {len(column)} rows where {size} were expected; give "
                "every column one entry per row"
            )


def _from_tokens(cells: dict[str, list[Any]], ids: list[Any], layout: Layout, where: str) -> list[Sequence]:
    values = {
        name: [_string(cell, f"{where}: row {row}, {name!r}") for row, cell in enumerate(column)]
        for name, column in cells.items()
    }
    for row, key in enumerate(ids):  # before grouping: a missing id equals nothing, itself included
        if _is_missing(key):
            raise CorpusError(f"{where}: row {row} has no sequence id; fill it in (ffill)")
    sequences = []
    seen = set()
    start = 0
    for key, rows in groupby(ids):
        if key in seen:
            raise CorpusError(
                f"{where}: row {start}: sequence {key!r} was closed before; sort the rows by "
                "sequence, or give each its own id"
            )
        seen.add(key)
        end = start + sum(1 for _ in rows)
        part = {name: column[start:end] for name, column in values.items()}
        sequences.append(Sequence(layout.columns_of(part), layout.labels_of(part), info={"id": key}))
        start = end
    return sequences


def _from_lists(cells: dict[str, list[Any]], layout: Layout, where: str) -> list[Sequence]:
    sequences = []
    for row, record in enumerate(zip(*cells.values())):
        at_row = f"{where}: row {row}"
        part = {}
        for name, cell in zip(cells, record):
            if isinstance(cell, (str, bytes)) or not isinstance(cell, Iterable):
                raise CorpusError(
                    f"{at_row}, {name!r}: {cell!r} is not a list of strings; pass sequence= the column "
                    "with sequence ids if each row is a token"
                )
            part[name] = [_string(item, f"{at_row}, {name!r}") for item in cell]
        sequences.append(Sequence(layout.columns_of(part), layout.labels_of(part)).check(at_row))
    return sequences


def _names(table: Any) -> list[str]:
    names = list(table) if isinstance(table, Mapping) else None
    names = names or list(getattr(table, "column_names", None) or table.columns)
    for name in names:
        if not isinstance(name, str):
            raise CorpusError(f"column {name!r} of the table is not a string; rename it")
    return names


def _cells(table: Any, name: str) -> list[Any]:
    column = table[name]
    for method in ("to_pylist", "tolist"):  # Arrow; pandas and NumPy
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _string(cell: Any, where: str) -> str:
    if isinstance(cell, str):
        return cell
    if _is_missing(cell):
        raise CorpusError(f"{where}: the cell is missing; fill it in (a file's 'NA' may be a word)")
    if type(cell) is bool or not hasattr(cell, "__index__"):
        raise CorpusError(f"{where}: {cell!r} is not a string; convert the column to strings")
    return str(cell)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) == "<NA>"
