"""Relations between the rows of a table: which pairs of rows a clique template joins.

    pairs(table, same="author")                       rows with the same value
    pairs(table, same=["venue", "year"])              rows with the same values
    pairs(table, near={"year": 1})                    rows whose numbers differ by 1 at most
    links(ids, sources, targets)                      rows that a table of edges names

Results are [P, 2] numbers of rows, the first below the second, each pair once, in order. The pairs are
counted before they are made: a relation that joins nearly everything is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus.row_tables import Columns, column, columns_of, is_missing
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError

Ints = NDArray[np.int32]
PER_ROW, FEWEST = 50, 1000  # pairs that are allowed by default, per row and at least


def pairs(
    table: Any, *, same: Any = (), near: Mapping[str, float] | None = None, max_pairs: int | None = None
) -> Ints:
    """[P, 2] the pairs of rows that share values of columns.

    Parameters
    ----------
    table : a data frame, a dict of columns, a list of dicts, or the name of a CSV, TSV or Parquet file
    same : a column or several, whose values must all be equal; where cells are lists, one value in common
        is enough. Empty cells equal nothing
    near : for columns of numbers, how far apart the two may be
    max_pairs : more than these are refused; None for 50 per row, at least 1,000

    >>> papers = {"author": ["Ada", "Ada", "Omar", None], "year": [1999, 2003, 2003, 2004]}
    >>> pairs(papers, same="author").tolist()
    [[0, 1]]
    >>> pairs(papers, near={"year": 1}).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    columns = columns_of(table)
    equal = [same] if isinstance(same, str) else list(same)
    apart = dict(near or {})
    if not equal and not apart:
        raise InputError("pairs: give same= or near=, the columns by which rows are joined")
    n = len(next(iter(columns.values()), []))
    most = max(FEWEST, PER_ROW * n) if max_pairs is None else whole_number(max_pairs, "max_pairs", 0)
    groups = _groups([column(columns, name, "the table") for name in equal], n)
    numbers = {name: _numbers(columns, name) for name in apart}
    chosen = [_windows(rows, numbers, apart) for rows in groups]
    _refuse_many(chosen, most, n, equal, apart)
    found = [_joined(rows, stops) for rows, stops in chosen]
    out = np.concatenate([np.zeros((0, 2), np.int64), *found])
    for name, distance in list(apart.items())[1:]:
        out = out[np.abs(numbers[name][out[:, 0]] - numbers[name][out[:, 1]]) <= distance]
    return np.unique(np.sort(out, axis=1), axis=0).reshape(-1, 2).astype(np.int32)


def links(ids: Sequence[Any], sources: Sequence[Any], targets: Sequence[Any]) -> Ints:
    """[P, 2] the pairs of rows that edges name by their ids.

    Direction, repeated edges and edges from a row to itself do not count.

    >>> links(["a", "b", "c"], ["c", "a", "b"], ["a", "c", "b"]).tolist()
    [[0, 2]]
    """
    number: dict[Any, int] = {}
    for i, one in enumerate(ids):
        if is_missing(one):
            raise InputError(f"row {i} has no id; give every row one")
        if number.setdefault(str(one), i) != i:
            raise InputError(f"id {one!r} stands in rows {number[str(one)]} and {i}; each row needs its own")
    if len(sources) != len(targets):
        raise InputError(f"{len(sources)} sources for {len(targets)} targets; give one of both for each edge")
    found = np.empty((len(sources), 2), np.int64)
    for e, ends in enumerate(zip(sources, targets)):
        for k, end in enumerate(ends):
            if str(end) not in number:
                raise InputError(
                    f"edge {e} ({ends[0]} to {ends[1]}): there is no row with the id {end!r} among the "
                    f"{len(number):,}; add it, or leave the edge out"
                )
            found[e, k] = number[str(end)]
    found = np.sort(found[found[:, 0] != found[:, 1]], axis=1)
    return np.unique(found, axis=0).reshape(-1, 2).astype(np.int32)


def _groups(cells: list[list[Any]], n: int) -> list[NDArray[np.int64]]:
    """Rows with equal values in all columns, in order; groups of one are left out."""
    rows: dict[Any, list[int]] = {}
    for i in range(n):
        values = [_values(one[i]) for one in cells]
        for key in product(*values):
            rows.setdefault(key, []).append(i)
    return [np.array(group) for group in rows.values() if len(group) > 1]


def _values(cell: Any) -> list[Any]:
    """What a cell says: nothing, one value, or several."""
    if isinstance(cell, (list, tuple, set, np.ndarray)):
        return [one for one in dict.fromkeys(cell) if not is_missing(one)]
    return [] if is_missing(cell) else [cell]


def _numbers(columns: Columns, name: str) -> NDArray[np.float64]:
    out = np.full(len(column(columns, name, "the table")), np.nan)
    for i, cell in enumerate(columns[name]):
        try:
            out[i] = np.nan if is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise InputError(f"near: row {i} of column {name!r} is {cell!r}, no number") from None
    return out


def _windows(
    rows: NDArray[np.int64], numbers: Mapping[str, NDArray[np.float64]], near: Mapping[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a group in order of the first number, and where the partners of each end."""
    if not near:
        return rows, np.full(len(rows), len(rows))
    name, distance = next(iter(near.items()))
    kept = rows[np.isfinite(numbers[name][rows])]
    kept = kept[np.argsort(numbers[name][kept], kind="stable")]
    return kept, np.searchsorted(numbers[name][kept], numbers[name][kept] + distance, side="right")


def _joined(rows: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each row with those between it and its stop."""
    counts = np.maximum(stops - np.arange(len(rows)) - 1, 0)
    first = np.repeat(np.arange(len(rows)), counts)
    step = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([rows[first], rows[first + 1 + step]], 1)


def _refuse_many(chosen: list[Any], most: int, n: int, same: list[str], near: Mapping[str, float]) -> None:
    counts = [int(np.maximum(stops - np.arange(len(rows)) - 1, 0).sum()) for rows, stops in chosen]
    total = sum(counts)
    if total <= most:
        return
    how = ", ".join([*(f"same {name!r}" for name in same), *(f"{k!r} within {v:g}" for k, v in near.items())])
    largest = max(len(rows) for rows, _ in chosen)
    raise InputError(
        f"pairs ({how}): {total:,} pairs of {n:,} rows, more than max_pairs={most:,}; the largest group has "
        f"{largest:,} rows. Join by a column with more different values, add another one, or raise max_pairs"
    )
