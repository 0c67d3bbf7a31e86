"""The sequences that a trainer collects: encoded when they are appended, split when training begins.

In CRFsuite ``{"title": False}`` supports the feature (title, label), in fieldcraft it does not. The names of
such attributes are noted by label, and become sequences of one token that are trained with the weight zero:
they add the features to the model and change nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.compat.pycrfsuite.items import label_list, list_of_items, plain_item, zero_names
from fieldcraft.errors import InputError
from fieldcraft.features.appended import AppendedSequences
from fieldcraft.models.inputs import EncodedSequences

Pair = tuple[str, str]  # label, attribute


class TrainingData(NamedTuple):
    """Arguments of ``fit``; without held-out sequences X_dev is None."""

    X: EncodedSequences
    y: list[list[str]]
    sample_weight: NDArray[np.float64]
    X_dev: EncodedSequences | None
    y_dev: list[list[str]]


class Instances:
    """Sequences with their labels and groups; no object of the caller is kept."""

    def __init__(self) -> None:
        self._sequences = AppendedSequences()
        self._labels: list[list[str]] = []
        self._groups: list[int] = []
        self._zeros: dict[int, dict[Pair, int]] = {}  # by group; with the order of first appearance
        self._n_zeros = 0

    def __len__(self) -> int:
        return len(self._labels)

    def append(self, xseq: Iterable[Any], yseq: Iterable[Any], group: int) -> None:
        """Encode a sequence of items with its labels."""
        labels, items = label_list(yseq), list_of_items(xseq)
        if len(items) != len(labels):
            raise InputError(
                f"sequence {len(self)}: {len(labels)} labels for {len(items)} items; "
                "each item needs one label"
            )
        try:
            self._sequences.append(items)
        except InputError:
            items = [plain_item(item) for item in items]
            self._sequences.append(items)
        self._labels.append(labels)
        self._groups.append(group)
        self._note_zeros(items, labels, self._zeros.setdefault(group, {}))

    def _note_zeros(self, items: list[Any], labels: list[str], seen: dict[Pair, int]) -> None:
        for item, label in zip(items, labels):
            if isinstance(item, dict):
                for name in zero_names(item):
                    self._n_zeros += 1
                    seen.setdefault((label, name), self._n_zeros)

    def split(self, holdout: int, *, zeros: bool) -> TrainingData:
        """Everything but the group ``holdout`` (a negative number is none) to train on.

        With ``zeros`` attributes that occur with the value zero support features.
        """
        held = np.array(self._groups, np.int64) == holdout if holdout >= 0 else np.zeros(len(self), bool)
        train, dev = np.flatnonzero(~held), np.flatnonzero(held)
        more = self._support(holdout) if zeros else {}
        split = self._sequences.split(train, dev, [[list(names)] for names in more.values()])
        return TrainingData(
            EncodedSequences(split.encoder, split.train),
            [*(self._labels[i] for i in train), *([label] for label in more)],
            np.repeat([1.0, 0.0], [len(train), len(more)]),
            EncodedSequences(split.encoder, split.held_out) if len(dev) else None,
            [self._labels[i] for i in dev],
        )

    def _support(self, holdout: int) -> dict[str, list[str]]:
        """label -> attributes that occur with the value zero, in the order of their first appearance."""
        first: dict[Pair, int] = {}
        for group, seen in self._zeros.items():
            if holdout < 0 or group != holdout:
                for pair, at in seen.items():
                    first[pair] = min(at, first.get(pair, at))
        found: dict[str, list[str]] = {}
        for label, name in sorted(first, key=first.__getitem__):
            found.setdefault(label, []).append(name)
        return found
