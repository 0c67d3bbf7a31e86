"""How a feature index is stored: packed where the core can score it, else as plain columns.

``LAYOUTS`` names the layouts that a model file may have. Each has its features in an order of its own:
``places`` brings weights into it, ``features`` brings columns back.

Layout of ``PlainIndex``: attribute [F], labels [k, F], codes [F] where the parts need them, and the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.index import BY_LENGTH, FeatureIndex
from fieldcraft.features.packed import (
    COUNTS,
    Arrays,
    PackedIndex,
    full,
    shrink,
    stored_counts,
    template_of,
)

MOST_LABELS = 64  # columns


@dataclass(frozen=True)
class PlainIndex:
    """Features of any parts; arrays may be parts of a mapped file."""

    layout: ClassVar[str] = "columns"
    numbers: dict[str, Any]  # n_attributes, parts
    arrays: Arrays
    counts: Arrays = field(default_factory=dict)

    @classmethod
    def of(cls, index: FeatureIndex, n_states: int) -> PlainIndex:
        """The columns of an index."""
        del n_states
        arrays: Arrays = {"attribute": index.attribute, "labels": index.labels.T}
        if index.codes is not None:
            arrays["codes"] = index.codes
        counts: Arrays = {}
        for name in COUNTS:
            counts |= shrink(name, getattr(index, name))
        return cls({"n_attributes": index.n_attributes, "parts": list(index.parts)}, arrays, counts)

    @classmethod
    def from_file(cls, n_states: int, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> PlainIndex:
        """From the arrays of ``to_file``; ``check`` checks the numbers."""
        del n_states
        taken = {name: arrays[name] for name in ("attribute", "labels", "codes") if name in arrays}
        kept = {name: numbers[name] for name in ("n_attributes", "parts")}
        made = cls(kept, taken, stored_counts(arrays, len(taken["attribute"])))
        made._check_shapes()
        return made

    def to_file(self, *, counts: bool = True) -> Arrays:
        """Arrays by name."""
        return {**self.arrays, **(self.counts if counts else {})}

    def __len__(self) -> int:
        return len(self.arrays["attribute"])

    @property
    def n_attributes(self) -> int:
        return int(self.numbers["n_attributes"])

    def places(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights in the order of features -> in this order, which is the same."""
        return weights

    def features(self, placed: NDArray[Any]) -> NDArray[Any]:
        """A column in this order -> in the order of features."""
        return placed

    def check(self) -> None:
        """ValueError unless the numbers fit one another; labels are for the structure to check."""
        attribute, labels, codes = (self.arrays.get(name) for name in ("attribute", "labels", "codes"))
        assert attribute is not None
        assert labels is not None
        if np.any(attribute < -1) or np.any(attribute >= self.n_attributes) or np.any(labels < -1):
            raise ValueError("a feature has an attribute or a label that is not there")
        if codes is not None and codes.max(initial=0) >= len(self.numbers["parts"]):
            raise ValueError("a feature belongs to a part that is not there")

    def _check_shapes(self) -> None:
        parts, n = self.numbers["parts"], self.numbers["n_attributes"]
        if not isinstance(parts, list) or not all(isinstance(name, str) for name in parts) or not parts:
            raise ValueError("the parts are no list of names")
        if type(n) is not int or not 0 <= n < 1 << 31:
            raise ValueError(f"{n!r} attributes")
        expected = {"attribute": ("int32", 1), "labels": ("int32", 2), "codes": ("uint8", 1)}
        for name, array in self.arrays.items():
            if (str(array.dtype), array.ndim) != expected[name] or array.shape[-1] != len(self):
                raise ValueError(f"{name}: an array of type {array.dtype} and shape {array.shape}")
        if not 1 <= len(self.arrays["labels"]) <= MOST_LABELS:
            raise ValueError(f"features of {len(self.arrays['labels'])} labels")

    def index(self, attribute_template: NDArray[np.int32], windows: NDArray[np.int32]) -> FeatureIndex:
        """The feature index again."""
        attribute, labels = self.arrays["attribute"], self.arrays["labels"].T
        template = template_of(attribute, attribute_template)
        count, family = (full(name, self.counts, len(self)) for name in COUNTS)
        parts, codes = tuple(self.numbers["parts"]), self.arrays.get("codes")
        return FeatureIndex(
            attribute, labels, template, count, family, windows, self.n_attributes, parts, codes
        )


StoredIndex = PackedIndex | PlainIndex
LAYOUTS: dict[str, type[PackedIndex] | type[PlainIndex]] = {
    kind.layout: kind for kind in (PackedIndex, PlainIndex)
}


def laid_out(index: FeatureIndex, n_states: int) -> StoredIndex:
    """An index in the layout that suits it; the numbers of its labels are below ``n_states``."""
    packs = index.parts == BY_LENGTH[: len(index.parts)] and index.codes is None
    kind = PackedIndex if packs and index.labels.shape[1] <= len(BY_LENGTH) else PlainIndex
    return kind.of(index, n_states)
