"""Feature indices as they are stored; arrays may be parts of a mapped file.

Layout "columns", for features of any parts: attribute [F], labels [k, F], codes [F] if the parts need them.
The layout of chains is smaller (packed.py). A layout may sort the features: ``order[i]`` is the feature at
position i. Nearly all counts are small, so they are stored as bytes with a list of exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.index import BY_LENGTH, FeatureIndex

Arrays = dict[str, NDArray[Any]]
Ints = NDArray[np.int32]
COUNTS = ("count", "family")
MOST_LABELS = 64  # columns
SHRUNKEN = {"small": np.uint8, "at": np.uint32, "large": np.int32}  # the three arrays of a column of counts


def as_stored(arrays: Mapping[str, NDArray[Any]], name: str, *kinds: Any, ndim: int = 1) -> NDArray[Any]:
    """The array of that name, not copied; ValueError unless it has one of these types."""
    array = arrays[name]
    if array.dtype not in kinds or array.ndim != ndim:
        raise ValueError(f"{name}: an array of type {array.dtype} and shape {array.shape}")
    return array


@dataclass(frozen=True)
class StoredIndex:
    """A feature index as plain columns.

    Parameters
    ----------
    n_states : the labels of the features are below this number
    numbers : entries of the file's header
    arrays : by name
    counts : the columns ``count`` and ``family`` as ``shrink`` returns them; empty if unknown
    order : [F] the feature at each position; None if the order is that of the feature index
    """

    layout: ClassVar[str] = "columns"

    n_states: int
    numbers: dict[str, Any]
    arrays: Arrays
    counts: Arrays = field(default_factory=dict)
    order: NDArray[np.uint32] | None = None

    @classmethod
    def of(cls, index: FeatureIndex, n_states: int) -> StoredIndex:
        """From a feature index."""
        arrays: Arrays = {"attribute": index.attribute, "labels": index.labels.T}
        if index.codes is not None:
            arrays["codes"] = index.codes
        numbers = {"n_attributes": index.n_attributes, "parts": list(index.parts)}
        return cls(n_states, numbers, arrays, shrink(index))

    @classmethod
    def from_file(cls, n_states: int, numbers: Mapping[str, Any], arrays: Arrays) -> StoredIndex:
        """From the arrays of ``to_file``; ids are checked by the core or by ``check``."""
        parts, n = numbers["parts"], numbers["n_attributes"]
        if not isinstance(parts, list) or not all(isinstance(name, str) for name in parts) or not parts:
            raise ValueError("parts: a list of names was expected")
        if type(n) is not int or not 0 <= n < 1 << 31:
            raise ValueError(f"{n!r} attributes")
        attribute = as_stored(arrays, "attribute", np.int32)
        taken = {"attribute": attribute, "labels": as_stored(arrays, "labels", np.int32, ndim=2)}
        if "codes" in arrays:
            taken["codes"] = as_stored(arrays, "codes", np.uint8)
        if any(array.shape[-1] != len(attribute) for array in taken.values()):
            raise ValueError("the columns of the features differ in length")
        if not 1 <= len(taken["labels"]) <= MOST_LABELS:
            raise ValueError(f"features of {len(taken['labels'])} labels")
        counts = stored_counts(arrays, len(attribute))
        return cls(n_states, {"n_attributes": n, "parts": parts}, taken, counts)

    def __len__(self) -> int:
        return len(self.arrays["attribute"])

    @property
    def n_attributes(self) -> int:
        return int(self.numbers["n_attributes"])

    def check(self) -> None:
        """ValueError unless the numbers fit one another; the structure checks the labels."""
        attribute, labels = self._columns()
        if np.any(attribute < -1) or np.any(attribute >= self.n_attributes) or np.any(labels < -1):
            raise ValueError("a feature has an attribute or a label that does not exist")
        if "codes" in self.arrays and self.arrays["codes"].max(initial=0) >= len(self.numbers["parts"]):
            raise ValueError("a feature belongs to a part that does not exist")

    def _columns(self) -> tuple[Ints, Ints]:
        """attribute [F] and labels [k, F], in the stored order."""
        return self.arrays["attribute"], self.arrays["labels"]

    def to_file(self, *, counts: bool = True) -> Arrays:
        """Arrays by name."""
        order = {} if self.order is None else {"order": self.order}
        return {**self.arrays, **order, **(self.counts if counts else {})}

    def places(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights in the order of the features -> in the stored order."""
        return weights if self.order is None else np.ascontiguousarray(weights[self.order])

    def features(self, placed: NDArray[Any]) -> NDArray[Any]:
        """A column (or several, [..., F]) in the stored order -> in the order of the features."""
        if self.order is None:
            return placed
        column = np.empty_like(placed)
        column[..., self.order] = placed
        return column

    def index(self, attribute_template: Ints, windows: Ints) -> FeatureIndex:
        """The feature index, every column in full."""
        attribute, labels = map(self.features, self._columns())
        count, family = (self.features(self._count(name)) for name in COUNTS)
        template = np.full(len(attribute), -1, np.int32)
        template[attribute >= 0] = attribute_template[attribute[attribute >= 0]]
        columns = (attribute, labels.T, template, count, family)
        parts, codes = tuple(self.numbers.get("parts", BY_LENGTH)), self.arrays.get("codes")
        return FeatureIndex(*columns, windows, self.n_attributes, parts, codes)

    def _count(self, name: str) -> Ints:
        """[F] a column of counts; 0 if they are unknown."""
        if not self.counts:
            return np.zeros(len(self), np.int32)
        column = self.counts[f"{name}.small"].astype(np.int32)
        column[self.counts[f"{name}.at"]] = self.counts[f"{name}.large"]
        return column


def shrink(index: FeatureIndex, order: NDArray[np.uint32] | None = None) -> Arrays:
    """The counts of an index as bytes; larger ones are in a list of exceptions."""
    counts: Arrays = {}
    for name in COUNTS:
        column = getattr(index, name) if order is None else getattr(index, name)[order]
        at = np.flatnonzero(column > 255).astype(np.uint32)
        small = np.minimum(column, 255).astype(np.uint8)
        counts |= {f"{name}.small": small, f"{name}.at": at, f"{name}.large": column[at].astype(np.int32)}
    return counts


def stored_counts(arrays: Mapping[str, Any], n: int) -> Arrays:
    """The counts of n features among the arrays of a file, checked; empty if it has none."""
    counts: Arrays = {}
    for name in COUNTS if any(k.startswith(COUNTS) for k in arrays) else ():
        names = {f"{name}.{part}": kind for part, kind in SHRUNKEN.items()}
        small, at, large = (as_stored(arrays, k, kind) for k, kind in names.items())
        if len(small) != n or len(at) != len(large) or (len(at) and at.max() >= n):
            raise ValueError(f"{name}: the counts do not fit {n} features")
        counts |= dict(zip(names, (small, at, large)))
    return counts
