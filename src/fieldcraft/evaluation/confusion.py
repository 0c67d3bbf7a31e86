"""Confusion: how often which gold label, or type of span, was predicted as which other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import markup
from fieldcraft.corpus import schemes
from fieldcraft.corpus.spans import Span
from fieldcraft.evaluation.labellings import Labellings, encode
from fieldcraft.evaluation.reports import aligned

NONE = "(none)"


class Confusion(NamedTuple):
    """Counts by gold (rows) and predicted (columns); ``print`` shows the table.

    names : [Y] of rows and columns
    matrix : [Y, Y]
    """

    names: list[str]
    matrix: NDArray[np.int64]

    def _repr_html_(self) -> str:
        rows = [[name, *(f"{n:,d}" if n else "." for n in row)] for name, row in zip(*self)]
        return markup.fragment(markup.table(["gold \\ predicted", *self.names], rows))

    def __str__(self) -> str:
        head = ["gold \\ predicted", *self.names]
        rows = [[name, *(f"{n:,d}" if n else "." for n in row)] for name, row in zip(*self)]
        return aligned([head, *rows], cut=False)


def confusion(gold: Labellings, predicted: Labellings) -> Confusion:
    """Tokens by gold and predicted label; names are sorted.

    >>> names, matrix = confusion([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    >>> names, matrix.tolist()
    (['N', 'V'], [[2, 0], [1, 0]])
    """
    pair = encode(gold, predicted)
    order = sorted(range(len(pair.names)), key=pair.names.__getitem__)
    place = np.argsort(order)
    matrix = np.zeros((len(order), len(order)), np.int64)
    np.add.at(matrix, (place[pair.gold], place[pair.predicted]), 1)
    return Confusion([pair.names[i] for i in order], matrix)


def span_confusion(gold: Labellings, predicted: Labellings, *, scheme: str = "conlleval") -> Confusion:
    """Spans by gold and predicted type, where the borders agree; else against "(none)", the last name.

    >>> names, matrix = span_confusion([["B-A", "O", "B-A"]], [["B-B", "B-A", "O"]])
    >>> names, matrix.tolist()
    (['A', 'B', '(none)'], [[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    """
    pairs: dict[tuple[str, str], int] = {}
    rows = [list(labels) for labels in gold], [list(labels) for labels in predicted]
    encode(*rows)  # raises where they do not match
    for sides in zip(*rows):
        right, said = ({span[:2]: span for span in schemes.spans(side, scheme)} for side in sides)
        for place in {**right, **said}:
            key = _type(right.get(place)), _type(said.get(place))
            pairs[key] = pairs.get(key, 0) + 1
    names = [*sorted({name for key in pairs for name in key} - {NONE}), NONE]
    matrix = np.zeros((len(names), len(names)), np.int64)
    for (a, b), n in pairs.items():
        matrix[names.index(a), names.index(b)] = n
    return Confusion(names, matrix)


def _type(span: Span | None) -> str:
    return NONE if span is None else span.label
