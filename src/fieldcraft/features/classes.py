"""From label configurations to the classes of states and transitions that have weights.

Training data has labels; weights belong to classes (structures/states.py). A feature (attribute, label)
becomes one for every node class of a state with this label, a feature (attribute, label, label) one for
every edge class of a transition between states with these labels.

Counts: a feature of a class has the sum of the counts of its label configurations, as if all of them were
observed with it. Where labels have several classes, each of these has the whole count, as candidates of a
partial label have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex, row_keys

Ints = NDArray[np.int32]
Rows = NDArray[np.int64]


class Classes(Protocol):
    """The properties of a structure that relate labels and weights (structures/structure.py)."""

    @property
    def name(self) -> str: ...
    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def is_plain(self) -> bool: ...
    def label_classes(self) -> Mapping[str, tuple[Ints, Ints]]: ...
    def configurations(self) -> Mapping[str, Ints]: ...
    def tuple_counts(self, allowed: NDArray[np.uint8], offsets: Rows) -> Rows: ...


def names_labels(structure: Classes) -> bool:
    """Whether the numbers in the feature index of this structure are those of labels."""
    return structure.is_plain or all(np.array_equal(*pair) for pair in structure.label_classes().values())


def with_classes(index: FeatureIndex, structure: Classes) -> FeatureIndex:
    """Replaces label configurations by the classes of the structure.

    Configurations that cannot occur, such as a transition that the state space forbids, have no feature.
    """
    if structure.is_plain:
        return index
    tables = structure.label_classes()
    lost = len(index) - sum(np.count_nonzero(index.belongs_to(part)) for part in tables)
    if lost:
        raise InputError(
            f"{lost} of {len(index)} features belong to none of the parts {', '.join(tables)} of the "
            f"structure {structure.name}; leave out the templates that look at other parts"
        )
    blocks = [_expanded(index, part, *pair) for part, pair in tables.items()]
    rows, labels = (np.concatenate(columns, axis=-1) for columns in zip(*blocks))
    order = np.argsort(rows, kind="stable")
    return _merged(replace(index.take(rows[order]), labels=np.take(labels, order, axis=1).T))


def with_tuples(index: FeatureIndex, counts: Rows, *, all_of_them: bool) -> FeatureIndex:
    """The index followed by features of the part "tuple": those that occur, or all; counts [tuples]."""
    rows = np.arange(len(counts)) if all_of_them else np.flatnonzero(counts)
    n, k = len(rows), index.labels.shape[1]
    labels = np.full((k, n), -1, np.int32)
    labels[-1] = rows
    none = np.full(n, -1, np.int32)
    total = np.full(n, int(counts.sum()), np.int64).astype(np.int32)
    parts = (*index.parts, "tuple")
    codes = np.full(n, len(index.parts), np.uint8)
    fresh = replace(
        index,
        attribute=none,
        labels=labels.T,
        template=none,
        count=counts[rows].astype(np.int32),
        family=total,
        parts=parts,
        codes=codes,
    )
    return replace(index, parts=parts, codes=index.part).append(fresh)


def with_labels(index: FeatureIndex, structure: Classes) -> FeatureIndex:
    """Replaces classes by labels: for a class with several labels, by the first of them."""
    if names_labels(structure):
        return index
    columns = index.labels.T.copy()  # [k, F]
    for part, (labels, numbers) in structure.label_classes().items():
        mine, order, first, _ = _looked_up(index, part, numbers)
        columns[-labels.shape[1] :, mine] = labels[order[first]].T
    return replace(index, labels=columns.T)


def _expanded(index: FeatureIndex, part: str, labels: Ints, numbers: Ints) -> tuple[Rows, Ints]:
    """The rows of a part, repeated for each of their classes, and [columns, rows] the numbers of these."""
    mine, order, first, n = _looked_up(index, part, labels)
    within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    chosen = order[np.repeat(first, n) + within]
    k = labels.shape[1]
    columns = np.full((max(k, index.labels.shape[1]), len(chosen)), -1, np.int32)
    columns[-k:] = numbers[chosen].T
    return np.repeat(mine, n), columns


def _looked_up(index: FeatureIndex, part: str, table: Ints) -> tuple[Rows, Rows, Rows, Rows]:
    """The features of a part, and which rows ``order[first : first + n]`` of a table have their labels."""
    mine = np.flatnonzero(index.belongs_to(part))
    columns = index.labels.T[-table.shape[1] :]
    known, asked = row_keys(list(table.T), [column[mine] for column in columns])
    order = np.argsort(known, kind="stable")
    first, last = (np.searchsorted(known, asked, side, sorter=order) for side in ("left", "right"))
    return mine, order, first, last - first


def _merged(index: FeatureIndex) -> FeatureIndex:
    """Merges features that occur several times, as labels of one class do; their counts are added."""
    first = index.rows_of(index.attribute, *index.labels.T, codes=index.codes)
    kept = np.unique(first)
    count = np.zeros(len(index), np.int32)
    np.add.at(count, first, index.count)
    return replace(index.take(kept), count=count[kept])
