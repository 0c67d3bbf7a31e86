"""Training that goes on from a model: its weights matched by content, its index grown by appending.

Two ways. ``weights_for`` is a warm start: the data has an index of its own, and each feature that the
model knows (same attribute text, same labels) begins with its weight. ``grown`` keeps the model's index and
appends what the new data adds, so that old ids stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.parameters import Parameters

Floats = NDArray[np.float64]
OVERLAP = 0.25


def weights_for(
    known: Parameters,
    known_labels: Sequence[str],
    encoder: Encoder,
    index: FeatureIndex,
    labels: Sequence[str],
) -> Floats:
    """[F] the known weights of the features of another index; 0 for features that are new."""
    attributes = _numbers(_texts(known.encoder), _texts(encoder))
    states = _numbers(known_labels, labels)
    configuration = attributes[index.attribute], states[index.previous], states[index.label]
    strange = (index.attribute >= 0) & (configuration[0] < 0)
    strange |= ((index.previous >= 0) & (configuration[1] < 0)) | (configuration[2] < 0)
    rows = known.index.rows_of(*configuration)
    return np.where((rows >= 0) & ~strange, known.weights[rows], 0.0)


def _texts(encoder: Encoder) -> list[Any]:
    """What tells attributes apart: their texts, or their numbers where they are hashed."""
    n = encoder.n_attributes
    if encoder.hash_size is not None:
        return [(encoder.hash_size, i) for i in range(n)]
    return list(encoder.attribute_text(range(n)))


def _numbers(known: Sequence[Any], wanted: Sequence[Any]) -> NDArray[np.int32]:
    """[wanted + 1] the number that each has among the known ones, -1 for strangers; the last is -1."""
    number = {name: i for i, name in enumerate(known)}
    return np.array([*(number.get(name, -1) for name in wanted), -1], np.int32)


def copy_of(encoder: Encoder) -> Encoder:
    """An encoder that may grow while the model answers with the old one."""
    if encoder.hash_size is not None:
        return encoder  # never grows
    return encoder.keep(np.arange(encoder.n_attributes))


def information(known: FeatureIndex, n: int) -> Floats:
    """[n] how firmly the counts hold each known weight: its curvature in the loss so far; 0 for new ones.

    A feature that holds in a share p of n positions has the curvature n p (1 - p) if it stands alone. The
    features of a token overlap and hold less each; OVERLAP is what they keep.
    """
    share = (known.count + 0.5) / (known.family + 1.0)
    found = np.zeros(n)
    found[: len(known)] = OVERLAP * known.family * share * (1.0 - share)
    return found


def grown(old: FeatureIndex, new: FeatureIndex) -> FeatureIndex:
    """The old index with the rows that only the new one has; counts add up."""
    joined = old.append(new)
    rows = joined.rows_of(new.attribute, new.previous, new.label)
    both = rows < len(old)
    columns = {}
    for name in ("count", "family"):
        column = getattr(joined, name).copy()
        column[rows[both]] += getattr(new, name)[both]
        columns[name] = column
    return replace(joined, **columns)
