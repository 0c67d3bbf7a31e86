"""Which features are active where.

A feature (attribute, label) is active at token t if t has the attribute, with a value other than 0, and the
label; a feature (attribute, label before, label) if the pair of labels is that of t-1 and t, which a first
token does not have. Label pairs without an attribute need the pair alone.

Layout: incidences are the entries of ``encoded.attributes``, in their order.
Hazard: chains of plain labels only, where an attribute is combined either with labels or with pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.inspection.weights import Lookup

Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]


class Activity:
    """Finds the active features of a feature index over ``n_labels`` labels."""

    def __init__(self, index: FeatureIndex, n_labels: int) -> None:
        self.index = index
        self._lookup = Lookup(index, n_labels)
        self._on_edge = np.zeros(index.n_attributes + 1, bool)  # [A + 1] the last one is "no attribute"
        self._on_edge[index.attribute[index.is_edge]] = True

    def under(self, encoded: Encoded, labels: Ints) -> Any:
        """The features that are active under a labelling: a SciPy array [tokens, F] of ones.

        ``labels`` [tokens] has -1 for labels that the model does not know.
        """
        from scipy.sparse import csr_array

        n_tokens = len(labels)
        begins = first_tokens(encoded)
        previous = np.where(begins, -1, np.concatenate([[-1], labels[:-1]])[:n_tokens])
        token, attribute = self._incidences(encoded, begins)
        before = np.where(self._on_edge[attribute], previous[token], -1)
        steps = np.flatnonzero(~begins)
        rows = np.concatenate(
            [
                self._lookup(attribute, before, labels[token]),
                self._lookup(np.full(len(steps), -1), previous[steps], labels[steps]),
            ]
        )
        at = np.concatenate([token, steps])
        known = rows >= 0
        ones = np.ones(int(known.sum()), np.int64)
        active = csr_array((ones, (at[known], rows[known])), shape=(n_tokens, len(self.index)))
        active.sum_duplicates()
        active.data[:] = 1  # a token may have an attribute twice
        return active

    def possible(self, encoded: Encoded, mask: Mask) -> Mask:
        """[tokens] whether one of the features in ``mask`` is active under some labelling."""
        begins = first_tokens(encoded)
        wanted = np.zeros(self.index.n_attributes + 1, bool)
        wanted[self.index.attribute[mask]] = True  # -1, the label pairs, is the last one
        token, attribute = self._incidences(encoded, begins)
        found = np.zeros(len(begins), bool)
        found[token[wanted[attribute]]] = True
        return np.asarray(found | (wanted[-1] & ~begins))

    def _incidences(self, encoded: Encoded, begins: Mask) -> tuple[NDArray[np.int64], Ints]:
        """Tokens and attributes of the incidences that count."""
        token = np.repeat(np.arange(len(begins)), np.diff(encoded.token_ptr))
        attribute = encoded.attributes
        counts = ~(self._on_edge[attribute] & begins[token])
        if encoded.values is not None:
            counts &= encoded.values != 0
        return token[counts], attribute[counts]


def first_tokens(encoded: Encoded) -> Mask:
    """[tokens] whether a sequence begins at the token."""
    begins = np.zeros(len(encoded.token_ptr) - 1, bool)
    begins[encoded.offsets[:-1][np.diff(encoded.offsets) > 0]] = True
    return begins
