"""Several label columns per token: the features of each column, over the same attributes of the tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex

Ints = NDArray[np.int32]


class EncodedColumns(Encoded):
    """Positions are variables, C for each token; the attributes are those of the tokens."""

    tokens: Encoded

    @classmethod
    def of(cls, tokens: Encoded, n_columns: int) -> EncodedColumns:
        """From encoded tokens."""
        offsets = tokens.offsets * n_columns
        made = cls(offsets, np.zeros(int(offsets[-1]) + 1, np.int64), np.zeros(0, np.int32), None)
        made.tokens = tokens
        return made

    def take(self, sequences: NDArray[np.integer[Any]]) -> EncodedColumns:
        n_tokens = max(1, int(self.tokens.offsets[-1]))
        return EncodedColumns.of(self.tokens.take(sequences), max(1, int(self.offsets[-1]) // n_tokens))

    def for_part(self, part: str) -> Encoded:
        del part
        return self.tokens

    def arrays(self) -> list[NDArray[Any] | None]:
        return [self.offsets, *self.tokens]


def column_index(
    encoder: Any,
    tokens: Encoded,
    gold: Ints,
    columns: Mapping[str, int],
    sums: Mapping[str, NDArray[np.int64]],
    *,
    windows: Ints,
    min_count: int,
    supported: bool,
    looks: Mapping[str, NDArray[np.bool_]],
    own: NDArray[np.int64],
) -> FeatureIndex:
    """The features: attributes with the labels of each column, and the cells of every table.

    Parameters
    ----------
    gold : [tokens, C] labels; -1 where unknown
    columns : names, and how many labels each has
    sums : for each table [cells] how often gold labels have each cell
    supported : only attributes with labels that occur together ``min_count`` times
    looks : for each column [templates] whether it looks at their attributes
    own : [A] the label that an attribute is the score of, -1 for attributes that all labels look at
    """
    A, lengths = encoder.n_attributes, np.diff(tokens.token_ptr)
    family = np.bincount(tokens.attributes, minlength=A)
    attribute, label, count, code = [], [], [], []
    for c, (name, n) in enumerate(columns.items()):
        known = np.repeat(gold[:, c], lengths).astype(np.int64)
        cells = np.bincount(tokens.attributes[known >= 0] * np.int64(n) + known[known >= 0], minlength=A * n)
        kept = np.flatnonzero(cells >= min_count) if supported else np.arange(A * n)
        of = own[kept // n]
        kept = kept[looks[name][encoder.attribute_template[kept // n]] & ((of < 0) | (of == kept % n))]
        attribute.append(kept // n)
        label.append(kept % n)
        count.append(cells[kept])
        code.append(np.full(len(kept), c))
    for k, seen in enumerate(sums.values()):
        attribute.append(np.full(len(seen), -1))
        label.append(np.arange(len(seen)))
        count.append(seen)
        code.append(np.full(len(seen), len(columns) + k))
    owner, of, n_seen = (np.concatenate(rows).astype(np.int32) for rows in (attribute, label, count))
    template = np.where(owner >= 0, encoder.attribute_template[np.maximum(owner, 0)] if A else -1, -1)
    total = np.where(owner >= 0, family[np.maximum(owner, 0)] if A else 0, len(gold))
    return FeatureIndex(
        owner,
        of[:, None],
        template.astype(np.int32),
        n_seen,
        total.astype(np.int32),
        windows,
        A,
        (*columns, *sums),
        np.concatenate(code).astype(np.uint8),
    )
