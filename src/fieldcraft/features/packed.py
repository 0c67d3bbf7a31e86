"""A feature index of nodes and edges as it is scored and stored: in order, in as few bytes as it needs.

Label pairs stand first, then the features of attribute 0, 1, 2 …, those of nodes before those of edges
(native/packed.hpp has the arrays). Counts, nearly all of them small, are bytes with a list of exceptions.
A fitted index stands in this order already; for any other, ``order[i]`` is the feature at place i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
    """Node and edge features whose labels are below ``n_states``; arrays may be parts of a mapped file."""

    layout: ClassVar[str] = "packed"

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
        """From the arrays of ``to_file``; ids are checked by the core, or by ``check``."""
        taken = {k: _of_kind(k, arrays[k], kind) for k, kind in KINDS.items()}
        n_features = len(taken["label"])
        counts = stored_counts(arrays, n_features)
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

    def check(self) -> None:
        """ValueError unless the numbers fit one another; ``first`` and the rows are the core's to check."""
        arrays, n_pairs = self.arrays, self.numbers["n_pairs"]
        n_edge = int(arrays["edge_n"].sum(dtype=np.uint64))
        if (
            len(arrays["edge_attribute"]) != len(arrays["edge_n"])
            or len(arrays["n"]) != self.n_attributes
            or np.any(arrays["edge_attribute"] >= self.n_attributes)
            or np.any(np.diff(arrays["edge_attribute"].astype(np.int64)) <= 0)
            or not 0 <= n_pairs <= len(self)
            or n_pairs + n_edge != len(arrays["previous"])
            or n_pairs + n_edge + int(arrays["n"].sum(dtype=np.uint64)) != len(self)
        ):
            raise ValueError("the features do not fit the attributes")
        for name in ("label", "previous"):
            if arrays[name].max(initial=0) >= self.n_states:
                raise ValueError(f"{name}: a number that is not below {self.n_states}")

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
        labels = np.full((2, len(self)), -1, np.int32)
        labels[0, has_previous] = self.arrays["previous"]
        labels[1] = self.arrays["label"]
        if self.order is not None:
            attribute = self.features(attribute)
            labels = np.stack([self.features(column) for column in labels])
        count, family = (self.features(full(name, self.counts, len(self))) for name in COUNTS)
        template = template_of(attribute, attribute_template)
        return FeatureIndex(attribute, labels.T, template, count, family, windows, self.n_attributes)


def template_of(attribute: NDArray[np.int32], attribute_template: NDArray[np.int32]) -> NDArray[np.int32]:
    """[F] the template of each feature, -1 for those without attribute."""
    template = np.full(len(attribute), -1, np.int32)
    template[attribute >= 0] = attribute_template[attribute[attribute >= 0]]
    return template


def full(name: str, counts: Arrays, n: int) -> NDArray[np.int32]:
    """[n] a column of counts as ``shrink`` found it; 0 where they are unknown."""
    if not counts:
        return np.zeros(n, np.int32)
    column = counts[f"{name}.small"].astype(np.int32)
    column[counts[f"{name}.at"]] = counts[f"{name}.large"]
    return column


def shrink(name: str, column: NDArray[np.int32]) -> Arrays:
    """A column of counts as bytes; what does not fit stands in a list of its own."""
    at = np.flatnonzero(column > 255).astype(np.uint32)
    small = np.minimum(column, 255).astype(np.uint8)
    return {f"{name}.small": small, f"{name}.at": at, f"{name}.large": column[at].astype(np.int32)}


def stored_counts(arrays: Mapping[str, Any], n: int) -> Arrays:
    """The counts of n features among the arrays of a file, checked; empty where it has none."""
    counts: Arrays = {}
    for name in COUNTS if any(k.startswith(COUNTS) for k in arrays) else ():
        parts = {k: arrays[k] for k in (f"{name}.small", f"{name}.at", f"{name}.large")}
        _check_shrunken(name, parts, n)
        counts |= parts
    return counts


def _check_shrunken(name: str, parts: Arrays, n: int) -> None:
    small, at, large = parts.values()
    if (
        any(part.dtype != kind for part, kind in zip((small, at, large), (np.uint8, np.uint32, np.int32)))
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
