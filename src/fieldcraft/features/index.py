"""The feature index: one row per weight, every column a NumPy array.

A feature is an attribute (or nothing) together with a label configuration; it owns one weight. Masks
and vectors over this table are how experts, priors and inspection speak of weights.

Layout: all columns have length F, the number of weights. Rows never move: an index grows only by
appending, so ids stay valid.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class FeatureIndex:
    """Columns of the features of a model.

    Parameters
    ----------
    attribute : id of the attribute, -1 for features without one (label pairs)
    previous : previous label, -1 for features of the current label only
    label : current label
    template : number of the template that yields the attribute, -1 without attribute
    count : training positions where the feature holds
    family : training positions where its observation holds, whatever the labels
    windows : [templates, 2] first and last offset that each template looks at
    """

    attribute: Ints
    previous: Ints
    label: Ints
    template: Ints
    count: Ints
    family: Ints
    windows: Ints
    n_attributes: int

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def window(self) -> Ints:
        """[F, 2] first and last position, relative to the token, that a feature looks at."""
        pairs = np.where(self.previous >= 0, -1, 0).astype(np.int32)  # [F] labels it looks at
        seen = np.zeros((len(self), 2), np.int32)
        observed = self.template >= 0
        seen[observed] = self.windows[self.template[observed]]
        seen[:, 0] = np.where(observed, np.minimum(seen[:, 0], pairs), pairs)
        seen[:, 1] = np.where(observed, np.maximum(seen[:, 1], 0), 0)
        return seen

    @cached_property
    def digest(self) -> str:
        """Equal digests mean the same features in the same order."""
        hasher = hashlib.sha256(str(self.n_attributes).encode())
        for column in (self.attribute, self.previous, self.label, self.template):
            hasher.update(np.ascontiguousarray(column).tobytes())
        return hasher.hexdigest()

    @property
    def labels(self) -> Ints:
        """[F, 2] label configuration of each feature: previous label (-1 for none) and label."""
        return np.stack([self.previous, self.label], axis=1)

    def belongs_to(self, part: str) -> NDArray[np.bool_]:
        """[F] is the feature one of this part: "node" or "edge"."""
        return self.is_edge if part == "edge" else ~self.is_edge

    @property
    def is_edge(self) -> NDArray[np.bool_]:
        """[F] does the feature look at the previous label."""
        return self.previous >= 0

    def select(self, mask: NDArray[np.bool_]) -> FeatureIndex:
        """The rows where ``mask`` holds."""
        kept = {name: getattr(self, name)[mask] for name in COLUMNS}
        return FeatureIndex(**kept, windows=self.windows, n_attributes=self.n_attributes)

    def with_attributes(self, attribute: Ints, n_attributes: int) -> FeatureIndex:
        """The same features of attributes that are numbered in another way."""
        return replace(self, attribute=attribute.astype(np.int32), n_attributes=n_attributes)

    def append(self, other: FeatureIndex) -> FeatureIndex:
        """This index followed by the rows of ``other`` that it does not have yet."""
        fresh = self.rows_of(other.attribute, other.previous, other.label) < 0
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)[fresh]]) for name in COLUMNS
        }
        n_attributes = max(self.n_attributes, other.n_attributes)
        return FeatureIndex(**joined, windows=other.windows, n_attributes=n_attributes)

    def rows_of(self, attribute: Ints, previous: Ints, label: Ints) -> NDArray[np.int64]:
        """Where each of these configurations stands in this index, -1 where it does not."""
        labels = [column.max(initial=-1) for column in (self.label, self.previous, label, previous)]
        width = np.uint64(max(labels) + 2)

        def packed(a: Ints, x: Ints, y: Ints) -> NDArray[np.uint64]:
            a, x, y = ((column + np.int64(1)).astype(np.uint64) for column in (a, x, y))
            return (a * width + x) * width + y  # type: ignore[no-any-return]

        own, wanted = packed(self.attribute, self.previous, self.label), packed(attribute, previous, label)
        order = np.argsort(own, kind="stable")
        at = np.searchsorted(own, wanted, sorter=order)
        rows = order[np.minimum(at, len(own) - 1)] if len(own) else np.zeros(len(wanted), np.int64)
        found = own[rows] == wanted if len(own) else np.zeros(len(wanted), bool)
        return np.where(found, rows, -1)

    def keys(self) -> NDArray[np.void]:
        """[F] one comparable value per feature: attribute, previous and current label."""
        rows = np.stack([self.attribute, self.previous, self.label], axis=1)
        return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * 3))).ravel()


COLUMNS = ("attribute", "previous", "label", "template", "count", "family")
