"""Tables whose rows stand for themselves: CSV, TSV and Parquet files, data frames, dicts and lists of dicts.

A table becomes a dict of columns, lists of equal length. Cells of text files are strings, None if empty.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from itertools import chain
from typing import Any

from fieldcraft.corpus.formats.tables import is_table
from fieldcraft.corpus.sources import Source
from fieldcraft.errors import CorpusError

Columns = dict[str, list[Any]]


def columns_of(table: Any, *, encoding: str = "utf-8") -> Columns:
    """The columns of a table or of the file of one.

    >>> columns_of([{"id": "a", "year": 1999}, {"id": "b", "year": None}])
    {'id': ['a', 'b'], 'year': [1999, None]}
    """
    if isinstance(table, (str, os.PathLike)):
        name = os.fspath(table)
        if name.endswith(".parquet"):
            return _parquet(name)
        return _text(name, encoding)
    if isinstance(table, (list, tuple)):
        return _records(table)
    if not is_table(table):
        raise CorpusError(
            f"a table is no {type(table).__name__}; give a data frame, a dict of lists, a list of dicts "
            "or the name of a file"
        )
    names = list(table) if isinstance(table, Mapping) else list(getattr(table, "column_names", table.columns))
    return _even({str(name): _cells(table[name]) for name in names}, f"<{type(table).__name__}>")


def column(columns: Columns, name: str, where: str) -> list[Any]:
    """A column of this name, or a CorpusError that lists those there are."""
    if name not in columns:
        raise CorpusError(f"{where} has no column {name!r}; it has {', '.join(columns)}")
    return columns[name]


def is_missing(cell: Any) -> bool:
    """Whether a cell says nothing: None, an empty string, nan."""
    return cell is None or cell == "" or (isinstance(cell, float) and cell != cell) or str(cell) == "<NA>"


def _cells(values: Any) -> list[Any]:
    for method in ("to_pylist", "tolist"):  # Arrow; pandas and NumPy
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    return [
        None if not isinstance(cell, (list, tuple, set)) and is_missing(cell) else cell for cell in values
    ]


def _records(rows: Any) -> Columns:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise CorpusError(f"row {i} is a {type(row).__name__}; give a dict for every row")
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: _cells([row.get(name) for row in rows]) for name in names}


def _parquet(path: str) -> Columns:
    try:
        from pyarrow import ArrowInvalid  # type: ignore[import-untyped]
        from pyarrow.parquet import read_table  # type: ignore[import-untyped]
    except ImportError:
        raise CorpusError(
            f"{path}: Parquet needs pyarrow: pip install 'fieldcraft[tables]', or save CSV"
        ) from None
    try:
        table = read_table(path)
    except ArrowInvalid as error:
        raise CorpusError(f"{path}: {error}; is it a Parquet file?") from None
    return {str(name): _cells(table[name]) for name in table.column_names}


def _text(path: str, encoding: str) -> Columns:
    source = Source(path, encoding)
    lines = (line.rstrip("\r") for line in chain.from_iterable(source.batches()))
    first = next(lines, "")
    plain = path.removesuffix(".gz")
    mark = "\t" if plain.endswith((".tsv", ".tab")) else ";" if "," not in first and ";" in first else ","
    names = next(csv.reader([first], delimiter=mark), [])
    columns: Columns = {name.strip(): [] for name in names}
    if not names or len(columns) < len(names):
        raise source.error(1, f"the first line must name the columns, each once; it is {first[:80]!r}")
    reader = csv.reader(lines, delimiter=mark, strict=True)
    try:
        for cells in reader:
            if not any(cells):
                continue
            if len(cells) != len(names):
                raise source.error(
                    reader.line_num + 1, f"{len(cells)} fields where the first line names {len(names)}"
                )
            for values, cell in zip(columns.values(), cells):
                values.append(cell or None)
    except csv.Error as error:
        raise source.error(reader.line_num + 1, f"{error}; double the quotes inside a quoted field") from None
    return columns


def _even(columns: Columns, where: str) -> Columns:
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        raise CorpusError(f"{where}: columns have {sorted(sizes)} rows; give every column one entry per row")
    return columns
