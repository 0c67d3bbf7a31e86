"""What models of CRF++ and Wapiti share: templates, and weights that belong to the texts of attributes.

The weights of an observation lie end to end: one for each label, or one for each pair (x, y) of n labels at
x n + y. Those that are not 0 are given by their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.attribute_texts import Builder
from fieldcraft.features.joined import ranges
from fieldcraft.features.templates import Templates
from fieldcraft.store.importers.imported import Features, Imported, imported

Ints = NDArray[np.int64]
FORMATS = {"CRF++": "crfpp", "Wapiti": "wapiti"}
MOST_COLUMNS = 10_000
MOST_COPIES = 16  # features per weight, on average, plus a million


class Observation(NamedTuple):
    """The text of an attribute, and where its weights begin."""

    text: str
    start: int
    pairs: bool  # weights of every pair of labels, not of every label


class Weights(NamedTuple):
    """The weights that are not 0.

    numbers : ascending
    values : one for each number
    total : how many weights there are, zeros included
    """

    numbers: Ints
    values: NDArray[np.float64]
    total: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Weights:
        """From all weights."""
        numbers = np.flatnonzero(values)
        return cls(numbers, values[numbers], len(values))


def from_observations(
    toolkit: str,
    lines: list[str],
    labels: list[str],
    observations: Sequence[Observation],
    weights: Weights,
    n_columns: int | None = None,
) -> Imported:
    """The model of these observations; ValueError if a number does not fit."""
    templates = Templates.parse("\n".join(lines), format=FORMATS[toolkit], where="its templates")
    builder, plain = Builder(templates), {line.strip() for line in lines if "%" not in line}
    alone = []  # label pairs without an attribute
    for number, observation in enumerate(observations):
        if observation.pairs and observation.text in plain:
            alone.append(number)
        else:
            builder.add(observation.text, "edge" if observation.pairs else "node", number)
    features, number_of = builder.finish()
    attributes = features_of(observations, number_of, weights, len(labels))
    pairs = features_of(observations, np.array(alone, np.int64), weights, len(labels))
    if n_columns is None:
        n_columns = 1 + max((int(name) for name in templates.named_columns), default=0)
    parts = [attributes, _added_up(pairs, len(labels))]
    return imported(toolkit, labels, features, parts, column_source(n_columns))


def features_of(
    observations: Sequence[Observation], number_of: Ints, weights: Weights, n_labels: int
) -> Features:
    """The features of attributes 0, 1, 2 …, given the number of each attribute's observation."""
    starts = np.array([o.start for o in observations], np.int64)[number_of]
    is_pair = np.array([o.pairs for o in observations], bool)[number_of]
    stops = starts + np.where(is_pair, n_labels * n_labels, n_labels)
    if starts.min(initial=0) < 0 or stops.max(initial=0) > weights.total:
        raise ValueError("an attribute names weights that are not there")
    low, high = np.searchsorted(weights.numbers, starts), np.searchsorted(weights.numbers, stops)
    count = high - low
    if count.sum() > MOST_COPIES * len(weights.numbers) + 1_000_000:
        raise ValueError("its attributes share too many weights")
    at = ranges(low, count)
    offset = weights.numbers[at] - np.repeat(starts, count)
    previous = np.where(np.repeat(is_pair, count), offset // n_labels, -1)
    attribute = np.repeat(np.arange(len(number_of)), count)
    return Features(attribute, previous, offset % n_labels, weights.values[at])


def _added_up(pairs: Features, n_labels: int) -> Features:
    """Label pairs alone: several lines without a macro are one feature, whose weights add up."""
    keys, which = np.unique(pairs.previous * n_labels + pairs.label, return_inverse=True)
    total = np.bincount(which.reshape(-1), pairs.weight, len(keys)).astype(np.float64)
    return Features(np.full(len(keys), -1), keys // n_labels, keys % n_labels, total)


def column_source(n_columns: int) -> dict[str, Any]:
    """How column files with so many columns before the labels are read."""
    if not 0 <= n_columns <= MOST_COLUMNS:
        raise ValueError(f"{n_columns} columns; at most {MOST_COLUMNS} are possible")
    names = [f"c{i}" for i in range(n_columns)]
    return {"format": "columns", "columns": [*names, "label"], "label": "label", "docstart": "keep"}
