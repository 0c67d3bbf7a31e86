"""What a wrong label costs: a matrix over labels, by gold label (row) and label (column)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

Floats = NDArray[np.float64]
REMEDY = "give 'hamming', a matrix with a row and a column per label, or {(gold, label): cost}"


def cost_matrix(cost: Any, names: Sequence[str] | int) -> Floats:
    """[Y, Y] >= 0 with a zero diagonal, or an InputError.

    "hamming" costs 1 for every wrong label; a mapping names the pairs that cost something else than 1; a
    matrix stands in the order of the labels.

    >>> cost_matrix({("O", "B"): 5}, ["B", "O"]).tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    """
    n = names if isinstance(names, int) else len(names)
    if isinstance(cost, str):
        if cost != "hamming":
            raise InputError(f"cost={cost!r}; {REMEDY}")
        return 1.0 - np.eye(n)
    matrix = _from_pairs(cost, names) if isinstance(cost, Mapping) else _from_rows(cost, n)
    bad = ~np.isfinite(matrix) | (matrix < 0)
    if bad.any():
        x, y = np.argwhere(bad)[0]
        raise InputError(f"cost[{x}, {y}] is {matrix[x, y]}; costs must be finite and not negative")
    if np.diag(matrix).any():
        x = int(np.flatnonzero(np.diag(matrix))[0])
        raise InputError(f"cost[{x}, {x}] is {matrix[x, x]}; the right label must cost 0")
    return matrix


def _from_rows(cost: Any, n: int) -> Floats:
    try:
        matrix = np.array(cost, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"cost is a {type(cost).__name__} that is no matrix of numbers; {REMEDY}") from None
    if matrix.shape != (n, n):
        raise InputError(f"cost has shape {matrix.shape} for {n} labels; {REMEDY}")
    return matrix


def _from_pairs(cost: Mapping[Any, Any], names: Sequence[str] | int) -> Floats:
    known = [] if isinstance(names, int) else list(names)
    matrix = 1.0 - np.eye(names if isinstance(names, int) else len(names))
    for pair, value in cost.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise InputError(f"cost has the key {pair!r}; keys are pairs (gold label, label)")
        for name in pair:
            if name not in known:
                raise InputError(f"cost names {name!r}, which is no label; the labels are {', '.join(known)}")
        try:
            matrix[known.index(pair[0]), known.index(pair[1])] = value
        except (TypeError, ValueError):
            raise InputError(f"cost of {pair!r} is {value!r}; costs are numbers") from None
    return matrix
