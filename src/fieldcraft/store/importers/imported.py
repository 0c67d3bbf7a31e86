"""A model of another toolkit in fieldcraft's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.index import FeatureIndex, row_keys
from fieldcraft.features.user_features import FreeFeatures

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_LABELS = 1 << 15  # a dense table of transitions of more would not fit into memory


@dataclass(frozen=True)
class Imported:
    """Labels, features and weights of a chain.

    Parameters
    ----------
    toolkit : its name
    labels : the labels, in the order of the file
    encoder : the attributes
    index : the features
    weights : [F] one for each feature
    source : how its corpora are read (arguments of ``fc.read``)
    local : is each step normalised by itself, as in a MEMM
    """

    toolkit: str
    labels: list[str]
    encoder: FreeFeatures | TemplateFeatures
    index: FeatureIndex
    weights: Floats
    source: dict[str, Any]
    local: bool = False


@dataclass(frozen=True)
class Features:
    """Columns of features in any order; labels are numbers in the order of the file.

    Parameters
    ----------
    attribute : -1 for pairs of labels alone
    previous : -1 for features of one label
    label : the label
    weight : the weight
    """

    attribute: Ints
    previous: Ints
    label: Ints
    weight: Floats


def imported(
    toolkit: str,
    labels: list[str],
    encoder: FreeFeatures | TemplateFeatures,
    parts: list[Features],
    source: dict[str, Any],
) -> Imported:
    """The model of these features; those of weight 0 are left out.

    Labels keep their order, which decides between labellings that are equally good. ValueError where a
    number does not fit.
    """
    if not labels or len(labels) > MOST_LABELS or len(set(labels)) != len(labels):
        raise ValueError(f"{len(labels)} labels; between 1 and {MOST_LABELS} different ones are expected")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in Features.__annotations__]
    used = columns[3] != 0.0
    attribute, previous, label, weight = (column[used] for column in columns)
    if not np.all(np.isfinite(weight)):
        raise ValueError("a weight is not a finite number")
    n = len(labels)
    for name, column, low, high in (
        ("attribute", attribute, -1, encoder.n_attributes),
        ("label", previous, -1, n),
        ("label", label, 0, n),
    ):
        if column.min(initial=low) < low or column.max(initial=low) >= high:
            raise ValueError(f"a feature names a {name} that does not exist")
    return Imported(toolkit, labels, encoder, _index(encoder, attribute, previous, label), weight, source)


def _index(
    encoder: FreeFeatures | TemplateFeatures, attribute: Ints, previous: Any, label: Any
) -> FeatureIndex:
    rows = attribute.astype(np.int32)
    blank = np.zeros(len(rows), np.int32)  # how often a feature occurred is not in the file
    templates = np.append(encoder.attribute_template, np.int32(-1))  # attribute = -1 reads the last entry
    windows = np.array([t.window for t in encoder.templates], np.int32).reshape(-1, 2)
    labels = np.stack([previous, label]).astype(np.int32).T
    keys, _ = row_keys([rows, *labels.T], [rows[:0]] * 3)
    if len(np.unique(keys)) != len(rows):
        raise ValueError("a feature occurs twice")
    return FeatureIndex(
        rows, labels, templates[attribute].astype(np.int32), blank, blank, windows, encoder.n_attributes
    )
