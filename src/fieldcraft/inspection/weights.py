"""The weights of a fitted model with names.

Layout: a *row* is a position in the feature index, and so in the weights; -1 is "no such feature". Models
have hundreds of thousands of rows, so that everything works on arrays of rows; texts are computed for the
few that are shown.
Hazard: hashed models do not store the template of a bucket, and compact model files have no template column;
both cases are handled here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.errors import InputError
from fieldcraft.features.classes import Classes, names_labels, with_labels
from fieldcraft.features.index import FeatureIndex

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
HASHED = {"node": "hashed", "edge": "hashed edges"}


@dataclass(frozen=True)
class FeatureWeight:
    """One feature with its weight; ``previous`` is None if the feature depends on the label only."""

    attribute: str
    template: str
    previous: str | None
    label: str
    weight: float
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Pure JSON types."""
        return dict(vars(self))


class WeightTable:
    """The features of a trained model with their weights and names.

    Parameters
    ----------
    structure, encoder, index, weights : of the model
    """

    def __init__(self, structure: Classes, encoder: Encoder, index: FeatureIndex, weights: Floats) -> None:
        self.labels = list(structure.labels)
        self.states_are_labels = names_labels(structure)
        self.index = with_labels(index, structure)
        self.weights = weights
        self.encoder = encoder

    @property
    def hashed(self) -> bool:
        """Whether attributes are buckets without names."""
        return getattr(self.encoder, "hash_size", None) is not None

    @cached_property
    def template_names(self) -> list[str]:
        """Names by template number."""
        templates: list[Any] = list(self.encoder.templates)
        return [HASHED[t.part] for t in templates] if self.hashed else [t.name for t in templates]

    @cached_property
    def template(self) -> NDArray[np.int32]:
        """[F] template number of each feature, -1 for label pairs alone."""
        observed = self.index.attribute >= 0
        if not np.any(self.index.template[observed] < 0):
            return self.index.template
        template = np.full(len(self.index), -1, np.int32)
        template[observed] = self.encoder.attribute_template[self.index.attribute[observed]]
        return template

    def label_number(self, label: str) -> int:
        """The position of a label in ``classes_``."""
        if label not in self.labels:
            raise InputError(f"label {label!r} is not one of the model's: {', '.join(self.labels)}")
        return self.labels.index(label)

    def describe(self, rows: Rows) -> tuple[FeatureWeight, ...]:
        """The features of these rows, in this order; all of them have an attribute."""
        index = self.index
        texts = self.encoder.attribute_text(index.attribute[rows])
        columns = (self.template[rows], index.previous[rows], index.label[rows], index.count[rows])
        weights = self.weights[rows].astype(np.float64)
        return tuple(
            FeatureWeight(text, self.template_names[t], self._label(p), self.labels[y], w, c)
            for text, w, t, p, y, c in zip(texts, weights.tolist(), *(c.tolist() for c in columns))
        )

    def _label(self, number: int) -> str | None:
        return None if number < 0 else self.labels[number]


class Lookup:
    """(attribute, previous, label) -> row.

    Parameters
    ----------
    index : the features; their numbers are those of labels
    n_labels : the number of labels
    attributes : only these and the label pairs are looked up; None for all
    """

    def __init__(
        self, index: FeatureIndex, n_labels: int, attributes: NDArray[np.integer[Any]] | None = None
    ) -> None:
        self._base = n_labels + 1
        rows = np.arange(len(index))
        if attributes is not None:
            rows = np.flatnonzero((index.attribute < 0) | np.isin(index.attribute, attributes))
        keys = self._keys(index.attribute[rows], index.previous[rows], index.label[rows])
        order = np.argsort(keys)
        self._keys_sorted, self._rows = keys[order], rows[order]

    def _keys(self, attribute: Any, previous: Any, label: Any) -> Rows:
        whole = np.asarray(attribute, np.int64) + 1
        return np.asarray((whole * self._base + previous + 1) * self._base + label + 1)

    def __call__(self, attribute: Any, previous: Any, label: Any) -> Rows:
        """Rows of the features, -1 if there is none; the arguments are arrays of one shape."""
        if not len(self._rows):
            return np.full(np.shape(label), -1, np.int64)
        keys = self._keys(attribute, previous, label)
        at = np.minimum(np.searchsorted(self._keys_sorted, keys), len(self._rows) - 1)
        return np.where(self._keys_sorted[at] == keys, self._rows[at], -1)
