"""What models of CRF++ and Wapiti share: templates, and weights that belong to the texts of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.attribute_texts import Builder
from fieldcraft.features.templates import Templates
from fieldcraft.store.importers.imported import Features, Imported, blocks, imported

Ints = NDArray[np.int64]


class Observation(NamedTuple):
    """The text of an attribute, and where its weights begin."""

    text: str
    start: int
    pairs: bool  # weights of every pair of labels, not of every label


def from_observations(
    toolkit: str,
    lines: list[str],
    labels: list[str],
    observations: Sequence[Observation],
    weights: NDArray[np.floating[Any]],
    n_columns: int | None = None,
) -> Imported:
    """The model of these observations; ValueError if a number does not fit."""
    format = "crfpp" if toolkit == "CRF++" else "wapiti"
    templates = Templates.parse("\n".join(lines), format=format, where="its templates")
    builder, plain = Builder(templates), {line.strip() for line in lines if "%" not in line}
    alone = []
    for number, observation in enumerate(observations):
        if observation.pairs and observation.text in plain:
            alone.append(number)
        else:
            builder.add(observation.text, "edge" if observation.pairs else "node", number)
    features, number_of = builder.finish()
    starts = np.array([o.start for o in observations], np.int64)
    is_pair = np.array([o.pairs for o in observations], bool)[number_of]
    attributes = np.arange(len(number_of))
    parts = [
        blocks(attributes[chosen], starts[number_of[chosen]], weights, len(labels), pairs=pairs)
        for pairs, chosen in ((False, ~is_pair), (True, is_pair))
    ]
    parts.append(_label_pairs(starts[alone], weights, len(labels)))
    if n_columns is None:
        n_columns = 1 + max((int(name) for name in templates.named_columns), default=0)
    return imported(toolkit, labels, features, parts, column_source(n_columns))


def _label_pairs(starts: Ints, weights: NDArray[np.floating[Any]], n_labels: int) -> Features:
    """Several lines without a macro are one feature, whose weights add up."""
    each = [
        blocks(np.array([-1]), np.array([start]), weights, n_labels, pairs=True) for start in starts.tolist()
    ]
    total = np.zeros((n_labels, n_labels))
    for one in each:
        total[one.previous, one.label] += one.weight
    previous, label = np.nonzero(total)
    return Features(np.full(len(label), -1), previous, label, total[previous, label])


def column_source(n_columns: int) -> dict[str, Any]:
    """How column files with so many columns before the labels are read."""
    names = [f"c{i}" for i in range(n_columns)]
    return {"format": "columns", "columns": [*names, "label"], "label": "label", "docstart": "keep"}
