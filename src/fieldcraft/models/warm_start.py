"""Training that continues from a model.

``weights_for`` is a warm start: the data has a new index, and each feature that the model has too (same
attribute text, same labels) starts from its weight. ``grown`` keeps the index of the model and appends the
new features, so that old ids stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.features.classes import names_labels
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.parameters import Parameters, n_numbers
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
OVERLAP = 0.25


def weights_for(known: Parameters, encoder: Encoder, index: FeatureIndex, structure: Structure) -> Floats:
    """[F] the weights of a model for the features of another index; 0 for new features.

    Features are matched by the names of their labels. If states are not labels, the names do not identify
    the classes, and the weights are used for the same state space only.
    """
    numbers = _label_numbers(known.structure, structure)
    if numbers is None:
        return np.zeros(len(index))
    attribute = _numbers(_texts(known.encoder), _texts(encoder))[index.attribute]
    strange = (index.attribute >= 0) & (attribute < 0)
    for column in index.labels.T:
        strange |= (column >= 0) & (numbers[column] < 0)
    same = replace(index, attribute=attribute, labels=numbers[index.labels.T].T)
    rows = same.rows_in(known.index)
    return np.where((rows >= 0) & ~strange, known.weights[rows], 0.0)


def _label_numbers(known: Structure, structure: Structure) -> NDArray[np.int32] | None:
    """[n + 1] the number in the known index of each number of a label configuration; the last is -1.

    -1 for numbers without a match, None if nothing can be matched.
    """
    if names_labels(known) and names_labels(structure):
        return _numbers(known.labels, structure.labels)
    tables = known.label_classes(), structure.label_classes()
    same = known.labels == structure.labels and tables[0].keys() == tables[1].keys()
    if not same or not all(map(np.array_equal, *([t for pair in m.values() for t in pair] for m in tables))):
        return None
    return np.append(np.arange(n_numbers(structure), dtype=np.int32), np.int32(-1))


def _texts(encoder: Encoder) -> list[Any]:
    """The identity of attributes: their texts, or their numbers if they are hashed."""
    n = encoder.n_attributes
    if encoder.hash_size is not None:
        return [(encoder.hash_size, i) for i in range(n)]
    return list(encoder.attribute_text(range(n)))


def _numbers(known: Sequence[Any], wanted: Sequence[Any]) -> NDArray[np.int32]:
    """[wanted + 1] the position of each in ``known``, -1 for those not in it; the last is -1."""
    number = {name: i for i, name in enumerate(known)}
    return np.array([*(number.get(name, -1) for name in wanted), -1], np.int32)


def copy_of(encoder: Encoder) -> Encoder:
    """A copy that may grow while the model predicts with the old one."""
    if encoder.hash_size is not None:
        return encoder  # never grows
    return encoder.keep(np.arange(encoder.n_attributes))


def information(known: FeatureIndex, n: int) -> Floats:
    """[n] approximate curvature of the loss so far in each known weight; 0 for new ones.

    A feature that is active in a fraction p of n positions has the curvature n p (1 - p) if it is the only
    one. The features of a token overlap, which reduces it to the fraction OVERLAP.
    """
    share = (known.count + 0.5) / (known.family + 1.0)
    curvature = np.zeros(n)
    curvature[: len(known)] = OVERLAP * known.family * share * (1.0 - share)
    return curvature


def grown(old: FeatureIndex, new: FeatureIndex) -> FeatureIndex:
    """The old index with the rows that only the new one has; counts add up."""
    joined = old.append(new)
    rows = new.rows_in(joined)
    both = rows < len(old)
    columns = {}
    for name in ("count", "family"):
        column = getattr(joined, name).copy()
        column[rows[both]] += getattr(new, name)[both]
        columns[name] = column
    return replace(joined, **columns)
