"""The layout of nodes and edges, as the core scores them: sorted, in as few bytes as possible.

Label pairs come first, then the features of attribute 0, 1, 2 …, those of nodes before those of edges
(native/packed.hpp documents the arrays). A fitted index has this order already. ``LAYOUTS`` lists the
layouts of model files by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldcraft import _core
from fieldcraft.features.index import BY_LENGTH, FeatureIndex
from fieldcraft.features.stored import Arrays, Ints, StoredIndex, as_stored, shrink, stored_counts

SMALL = (np.uint8, np.uint16)
KINDS: dict[str, tuple[type[np.generic], ...]] = {
    "first": (np.uint32,),
    "n": SMALL,
    "label": SMALL,
    "previous": SMALL,
    "edge_attribute": (np.uint32,),
    "edge_n": (np.uint32,),
}
NUMBERS = ("row_limit", "n_pairs", "n_rows")


@dataclass(frozen=True)
class PackedIndex(StoredIndex):
    """Node and edge features whose labels are below ``n_states``."""

    layout = "packed"

    @classmethod
    def of(cls, index: FeatureIndex, n_states: int) -> PackedIndex:
        frequency = np.zeros(index.n_attributes, np.int64)  # [A] frequent rows are stored together
        observed = index.attribute >= 0
        frequency[index.attribute[observed]] = index.family[observed]
        columns = _core.Columns(index.n_attributes, index.attribute, index.previous, index.label)
        arrays, *numbers, permutation = _core.pack_features(columns, n_states, frequency)
        order = None if np.all(permutation[:-1] < permutation[1:]) else permutation
        return cls(n_states, dict(zip(NUMBERS, map(int, numbers))), arrays, shrink(index, order), order)

    @classmethod
    def from_file(cls, n_states: int, numbers: Mapping[str, Any], arrays: Arrays) -> PackedIndex:
        packed = {name: as_stored(arrays, name, *kinds) for name, kinds in KINDS.items()}
        n_features = len(packed["label"])
        order = as_stored(arrays, "order", np.uint32) if "order" in arrays else None
        if order is not None and not np.array_equal(np.sort(order), np.arange(n_features)):
            raise ValueError("order: each feature must have exactly one position")
        counts = stored_counts(arrays, n_features)
        return cls(n_states, {name: int(numbers[name]) for name in NUMBERS}, packed, counts, order)

    def __len__(self) -> int:
        return len(self.arrays["label"])

    @property
    def n_attributes(self) -> int:
        return len(self.arrays["first"])

    def check(self) -> None:
        """ValueError unless the numbers fit one another; the core checks ``first`` and the rows."""
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

    def _columns(self) -> tuple[Ints, Ints]:
        n = self.arrays["n"].astype(np.int64)  # [A] node features
        n_edge = np.zeros_like(n)
        n_edge[self.arrays["edge_attribute"]] = self.arrays["edge_n"]
        both = n + n_edge
        pairs = np.full(self.numbers["n_pairs"], -1, np.int32)
        attribute = np.concatenate([pairs, np.repeat(np.arange(len(n), dtype=np.int32), both)])
        rank = np.arange(both.sum()) - np.repeat(np.cumsum(both) - both, both)  # within the attribute
        has_previous = np.concatenate([pairs < 0, rank >= np.repeat(n, both)])
        labels = np.full((2, len(self)), -1, np.int32)
        labels[0, has_previous] = self.arrays["previous"]
        labels[1] = self.arrays["label"]
        return attribute, labels


LAYOUTS: dict[str, type[StoredIndex]] = {kind.layout: kind for kind in (PackedIndex, StoredIndex)}


def laid_out(index: FeatureIndex, n_states: int) -> StoredIndex:
    """An index in the layout that suits it; the numbers of its labels are below ``n_states``."""
    packs = index.parts == BY_LENGTH[: len(index.parts)] and index.codes is None
    kind = PackedIndex if packs and index.labels.shape[1] <= len(BY_LENGTH) else StoredIndex
    return kind.of(index, n_states)
