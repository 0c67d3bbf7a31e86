"""The feature index: one row per weight, every column a NumPy array.

A feature is an attribute (or nothing) together with a label configuration: the part that it belongs to and
its labels. It has one weight. Masks and vectors over this table are how experts, priors and
inspection refer to weights.

Layout: all columns have length F, the number of weights. ``labels`` [F, k] is stored column by column, so
that ``previous`` and ``label`` are contiguous views. A part with fewer than k labels uses the last columns;
the others are -1. Rows never move: an index grows only by appending, so ids stay valid.

Where a state space ties weights, the numbers in ``labels`` are those of its classes (structures/states.py).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Codes = NDArray[np.uint8]
Column = Ints | Codes
Rows = NDArray[np.int64]
BY_LENGTH = ("node", "edge")  # the parts of features with one label and with two


@dataclass(frozen=True)
class FeatureIndex:
    """Columns of the features of a model.

    Parameters
    ----------
    attribute : id of the attribute, -1 for features without one (label pairs)
    labels : [F, k] label configuration, column by column; unused leading columns are -1
    template : number of the template that yields the attribute, -1 without attribute
    count : training positions where the feature occurs
    family : training positions where its observation occurs, whatever the labels
    windows : [templates, 2] first and last offset that each template looks at
    n_attributes : number of attributes, also of those without a feature
    parts : names of the parts
    codes : uint8 [F] number of each feature's part; None if the number of labels implies it: features with n
        labels belong to ``parts[n - 1]``
    """

    attribute: Ints
    labels: Ints
    template: Ints
    count: Ints
    family: Ints
    windows: Ints
    n_attributes: int
    parts: tuple[str, ...] = field(default=BY_LENGTH)
    codes: Codes | None = field(default=None)

    def __post_init__(self) -> None:
        if not self.labels.flags.f_contiguous:
            object.__setattr__(self, "labels", np.asfortranarray(self.labels))

    def __len__(self) -> int:
        return len(self.attribute)

    @property
    def label(self) -> Ints:
        """[F] the current label: the last one of the configuration."""
        return self.labels[:, -1]

    @property
    def previous(self) -> Ints:
        """[F] the label before it, -1 for features of the current label only."""
        return self.labels[:, -2] if self.labels.shape[1] > 1 else np.full(len(self), -1, np.int32)

    @property
    def part(self) -> Codes:
        """[F] number of each feature's part in ``parts``."""
        if self.codes is not None:
            return self.codes
        return np.maximum(self._n_labels() - 1, 0).astype(np.uint8)

    def _n_labels(self) -> NDArray[np.int8]:
        """[F] the number of labels of each feature."""
        n = np.zeros(len(self), np.int8)
        for column in self.labels.T:
            n += column >= 0
        return n

    def belongs_to(self, part: str) -> NDArray[np.bool_]:
        """[F] whether the feature belongs to this part: "node", "edge" …"""
        if part not in self.parts:
            return np.zeros(len(self), bool)
        return np.asarray(self.part == self.parts.index(part))

    @property
    def is_edge(self) -> NDArray[np.bool_]:
        """[F] whether the feature looks at the previous label."""
        return self.previous >= 0

    @cached_property
    def window(self) -> Ints:
        """[F, 2] first and last position, relative to the token, that a feature looks at."""
        before = 1 - np.maximum(self._n_labels(), 1).astype(np.int32)  # [F] the first label it looks at
        seen = np.zeros((len(self), 2), np.int32)
        observed = self.template >= 0
        seen[observed] = self.windows[self.template[observed]]
        seen[:, 0] = np.where(observed, np.minimum(seen[:, 0], before), before)
        seen[:, 1] = np.where(observed, np.maximum(seen[:, 1], 0), 0)
        return seen

    @cached_property
    def digest(self) -> str:
        """Equal digests mean the same features in the same order."""
        hasher = hashlib.sha256(str(self.n_attributes).encode())
        if self.codes is not None:
            hasher.update(repr(self.parts).encode())
        for column in (*self._configuration(), self.template):
            hasher.update(np.ascontiguousarray(column).data)
        return hasher.hexdigest()

    def _configuration(self) -> list[Column]:
        """The columns that identify a feature."""
        return [self.attribute, *self.labels.T, *([] if self.codes is None else [self.codes])]

    def select(self, mask: NDArray[np.bool_]) -> FeatureIndex:
        """The rows where ``mask`` is True."""
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Rows) -> FeatureIndex:
        """These rows, in this order."""
        columns = {name: np.take(column.T, rows, axis=-1).T for name, column in self._per_feature().items()}
        return replace(self, **columns)

    def _per_feature(self) -> dict[str, Column]:
        """All columns with a row for each feature."""
        names = ("attribute", "labels", "template", "count", "family", "codes")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def with_attributes(self, attribute: Ints, n_attributes: int) -> FeatureIndex:
        """The same features with renumbered attributes."""
        return replace(self, attribute=attribute.astype(np.int32), n_attributes=n_attributes)

    def append(self, other: FeatureIndex) -> FeatureIndex:
        """This index followed by the rows of ``other`` that it lacks."""
        own, other = _alike(self, other)
        fresh = other.take(np.flatnonzero(other.rows_in(own) < 0))
        columns = {
            name: np.concatenate([column.T, getattr(fresh, name).T], axis=-1).T
            for name, column in own._per_feature().items()
        }
        n_attributes = max(self.n_attributes, other.n_attributes)
        return replace(own, **columns, windows=other.windows, n_attributes=n_attributes)

    def rows_in(self, other: FeatureIndex) -> Rows:
        """[F] the row of each feature in another index, -1 if it has no such feature."""
        own, other = _alike(self, other)
        return other.rows_of(own.attribute, *own.labels.T, codes=own.codes)

    def rows_of(self, attribute: Ints, *labels: Ints, codes: Codes | None = None) -> Rows:
        """The row of each of these features in this index, -1 if it has no such feature.

        ``labels`` are the k columns of the configuration; ``codes`` is needed where this index has them.
        """
        asked: list[Column] = [attribute, *labels, *([] if codes is None else [codes])]
        own, wanted = row_keys(self._configuration(), asked)
        order = np.argsort(own, kind="stable")
        at = np.searchsorted(own, wanted, sorter=order)
        rows = order[np.minimum(at, len(own) - 1)] if len(own) else np.zeros(len(wanted), np.int64)
        known = own[rows] == wanted if len(own) else np.zeros(len(wanted), bool)
        return np.where(known, rows, -1)


COLUMNS = ("attribute", "previous", "label", "template", "count", "family")


def _alike(a: FeatureIndex, b: FeatureIndex) -> tuple[FeatureIndex, FeatureIndex]:
    """Both with the same number of label columns and the same table of parts."""
    k = max(a.labels.shape[1], b.labels.shape[1])
    if a.parts == b.parts and (a.codes is None) == (b.codes is None):
        return _widened(a, k), _widened(b, k)
    parts = tuple(dict.fromkeys([*a.parts, *b.parts]))
    return _widened(_coded(a, parts), k), _widened(_coded(b, parts), k)


def _widened(index: FeatureIndex, k: int) -> FeatureIndex:
    missing = k - index.labels.shape[1]
    if not missing:
        return index
    blank = np.full((missing, len(index)), -1, np.int32)
    return replace(index, labels=np.concatenate([blank, index.labels.T]).T)


def _coded(index: FeatureIndex, parts: tuple[str, ...]) -> FeatureIndex:
    number = np.array([parts.index(name) for name in index.parts], np.uint8)
    return replace(index, parts=parts, codes=number[index.part])


def row_keys(own: list[Column], asked: list[Column]) -> tuple[Rows, Rows]:
    """One number per row of either table; equal numbers mean equal rows."""
    if len(own) != len(asked):
        raise ValueError(f"features of {len(own)} columns compared with {len(asked)} columns")
    n, total = len(own[0]), 1  # all numbers so far are below the total
    keys = np.zeros(n + len(asked[0]), np.int64)
    for left, right in zip(own, asked):
        column = np.concatenate([left, right]).astype(np.int64) + 1
        width = int(column.max(initial=0)) + 1
        if total * width >= 1 << 62:
            distinct, keys = np.unique(keys, return_inverse=True)
            total = len(distinct)
        keys = keys * width + column
        total *= width
    return keys[:n], keys[n:]
