"""The feature index as it is scored and stored: in order, each number in as few bytes as it needs.

Label pairs stand first, then the features of attribute 0, 1, 2 …, those of nodes before those of edges
(native/packed.hpp has the arrays). Counts, nearly all of them small, are bytes with a list of exceptions.
A fitted index stands in this order already; for any other, ``order[i]`` is the feature at place i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.features.index import FeatureIndex

Arrays = dict[str, NDArray[Any]]
KINDS: dict[str, type[np.generic] | None] = {  # None: one or two bytes
    "first": np.uint32,
    "n": None,
    "label": None,
    "previous": None,
    "edge_attribute": np.uint32,
    "edge_n": np.uint32,
}
NUMBERS = ("row_limit", "n_pairs", "n_rows")
COUNTS = ("count", "family")


@dataclass(frozen=True)
class PackedIndex:
    """The features of a model over ``n_states`` labels; arrays may be parts of a mapped file."""

    n_states: int
    numbers: dict[str, int]
    arrays: Arrays
    counts: Arrays = field(default_factory=dict)  # what shrink made of count and family; empty: unknown
    order: NDArray[np.uint32] | None = None  # [F]

    @classmethod
    def of(cls, index: FeatureIndex, n_states: int) -> PackedIndex:
        """An index in order."""
        frequency = np.zeros(index.n_attributes, np.int64)  # [A] frequent rows are kept together
        observed = index.attribute >= 0
        frequency[index.attribute[observed]] = index.family[observed]
        columns = _core.Columns(index.n_attributes, index.attribute, index.previous, index.label)
        arrays, *numbers, order = _core.pack_features(columns, n_states, frequency)
        sorted_already = bool(np.all(order[:-1] < order[1:]))
        counts: Arrays = {}
        for name in COUNTS:
            column = getattr(index, name)
            counts |= shrink(name, column if sorted_already else column[order])
        named = dict(zip(NUMBERS, map(int, numbers)))
        return cls(n_states, named, arrays, counts, None if sorted_already else order)

    @classmethod
    def from_file(cls, n_states: int, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> PackedIndex:
        """From what ``to_file`` gave; ids are checked by the core when the model is made."""
        taken = {k: _of_kind(k, arrays[k], kind) for k, kind in KINDS.items()}
        n_features = len(taken["label"])
        counts: Arrays = {}
        for name in COUNTS if any(k.startswith(COUNTS) for k in arrays) else ():
            parts = {k: arrays[k] for k in (f"{name}.small", f"{name}.at", f"{name}.large")}
            _check_shrunken(name, parts, n_features)
            counts |= parts
        order = arrays.get("order")
        if order is not None:
            order = _of_kind("order", order, np.uint32)
            if not np.array_equal(np.sort(order), np.arange(n_features)):
                raise ValueError("order: each feature must stand in one place")
        return cls(n_states, {k: int(numbers[k]) for k in NUMBERS}, taken, counts, order)

    def to_file(self, *, counts: bool = True) -> Arrays:
        """Arrays by name."""
        order = {} if self.order is None else {"order": self.order}
        return {**self.arrays, **order, **(self.counts if counts else {})}

    def __len__(self) -> int:
        return len(self.arrays["label"])

    @property
    def n_attributes(self) -> int:
        return len(self.arrays["first"])

    def places(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights in the order of features -> in this order."""
        return weights if self.order is None else np.ascontiguousarray(weights[self.order])

    def features(self, placed: NDArray[Any]) -> NDArray[Any]:
        """A column in this order -> in the order of features."""
        if self.order is None:
            return placed
        column = np.empty_like(placed)
        column[self.order] = placed
        return column

    def index(self, attribute_template: NDArray[np.int32], windows: NDArray[np.int32]) -> FeatureIndex:
        """The feature index again, every column in full."""
        n = self.arrays["n"].astype(np.int64)  # [A] node features
        n_edge = np.zeros_like(n)
        n_edge[self.arrays["edge_attribute"]] = self.arrays["edge_n"]
        both = n + n_edge
        pairs = np.full(self.numbers["n_pairs"], -1, np.int32)
        attribute = np.concatenate([pairs, np.repeat(np.arange(len(n), dtype=np.int32), both)])
        place = np.arange(both.sum()) - np.repeat(np.cumsum(both) - both, both)  # within the attribute
        has_previous = np.concatenate([pairs < 0, place >= np.repeat(n, both)])
        previous = np.full(len(self), -1, np.int32)
        previous[has_previous] = self.arrays["previous"]
        template = np.full(len(self), -1, np.int32)
        template[attribute >= 0] = attribute_template[attribute[attribute >= 0]]
        columns = {
            "attribute": attribute,
            "previous": previous,
            "label": self.arrays["label"].astype(np.int32),
            "template": template,
            **{name: self._count(name) for name in COUNTS},
        }
        columns = {name: self.features(column) for name, column in columns.items()}
        return FeatureIndex.from_columns(**columns, windows=windows, n_attributes=self.n_attributes)

    def _count(self, name: str) -> NDArray[np.int32]:
        if not self.counts:
            return np.zeros(len(self), np.int32)
        full = self.counts[f"{name}.small"].astype(np.int32)
        full[self.counts[f"{name}.at"]] = self.counts[f"{name}.large"]
        return full


def shrink(name: str, column: NDArray[np.int32]) -> Arrays:
    """A column of counts as bytes; what does not fit stands in a list of its own."""
    at = np.flatnonzero(column > 255).astype(np.uint32)
    small = np.minimum(column, 255).astype(np.uint8)
    return {f"{name}.small": small, f"{name}.at": at, f"{name}.large": column[at].astype(np.int32)}


def _check_shrunken(name: str, parts: Arrays, n: int) -> None:
    small, at, large = parts.values()
    kinds = [str(part.dtype) for part in (small, at, large)]
    if (
        kinds != ["uint8", "uint32", "int32"]
        or any(part.ndim != 1 for part in (small, at, large))
        or len(small) != n
        or len(at) != len(large)
        or (len(at) and at.max() >= n)
    ):
        raise ValueError(f"{name}: the counts do not fit {n} features")


def _of_kind(name: str, array: NDArray[Any], kind: type[np.generic] | None) -> NDArray[Any]:
    allowed = (np.uint8, np.uint16) if kind is None else (kind,)
    if array.ndim != 1 or array.dtype not in allowed:
        raise ValueError(f"{name}: an array of type {array.dtype} with {array.ndim} dimensions")
    return array
