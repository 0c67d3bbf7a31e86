"""How the features at a token vote between two labels.

For token t with predicted label y and another label z, the other tokens keeping their labels:

    score(.. y ..) - score(.. z ..)  =  sum over node features   value * (w[a, y] - w[a, z])
                                      + the step in              edge[t, y_prev, y] - edge[t, y_prev, z]
                                      + the step out             edge[t+1, y, y_next] - edge[t+1, z, y_next]

where edge[t, x, y] = w[x, y] + sum over the edge features at t of value * w[a, x, y]. Each term is a *vote*.

Layout: votes of many tokens are parallel arrays sorted by owner (the token), then by |vote|.
Hazard: a label of -1 means that there is no other label; its side of every vote is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.inspection.observations import Observations, incidences
from fieldcraft.inspection.weights import Floats, Lookup, Rows

Pair = tuple[NDArray[Any], NDArray[Any]]  # labels (before, at the token)
PAIR = -1  # instead of the position of an attribute: the label pair alone


class Contrast(NamedTuple):
    """The tokens, and the labels to compare; all arrays have the length of ``tokens``."""

    tokens: Rows
    label: NDArray[np.int32]
    other: NDArray[np.int32]
    previous: NDArray[np.int32]  # predicted label before, -1 at the first token
    following: NDArray[np.int32]  # predicted label after, -1 at the last token


class Votes(NamedTuple):
    """Votes of all tokens; ``bounds[i] : bounds[i + 1]`` are those of the i-th."""

    bounds: Rows
    position: Rows
    value: Floats
    weight: Floats  # NaN: the model has no such feature
    other: Floats
    vote: Floats


class Ballot:
    """The votes about a sequence."""

    def __init__(self, seen: Observations, contrast: Contrast) -> None:
        self.seen = seen
        self.contrast = contrast
        tokens = contrast.tokens
        both = np.union1d(tokens, np.minimum(tokens + 1, len(seen.encoded.token_ptr) - 2))
        position = incidences(seen.encoded.token_ptr, both)[1]
        table, attributes = seen.table, np.unique(seen.encoded.attributes[position])
        self._lookup = Lookup(table.index, len(table.labels), attributes)

    def node(self) -> Votes:
        """Votes of the features with the label alone."""
        c = self.contrast
        owner, position = incidences(self.seen.encoded.token_ptr, c.tokens)
        nothing = np.full(len(owner), -1)
        return self._count(owner, position, (nothing, c.label[owner]), (nothing, c.other[owner]))

    def step_in(self) -> Votes:
        """Votes of the step from the label before."""
        c = self.contrast
        owner, position = self._with_pairs(np.flatnonzero(c.previous >= 0), 0)
        before = c.previous[owner]
        return self._count(owner, position, (before, c.label[owner]), (before, c.other[owner]))

    def step_out(self) -> Votes:
        """Votes of the step to the label after."""
        c = self.contrast
        owner, position = self._with_pairs(np.flatnonzero(c.following >= 0), 1)
        after = c.following[owner]
        return self._count(owner, position, (c.label[owner], after), (c.other[owner], after))

    def _with_pairs(self, owners: Rows, shift: int) -> tuple[Rows, Rows]:
        """The attributes of the owners' tokens moved by ``shift``, after the label pair itself."""
        owner, position = incidences(self.seen.encoded.token_ptr, self.contrast.tokens[owners] + shift)
        pairs = np.full(len(owners), PAIR)
        return np.concatenate([owners, owners[owner]]), np.concatenate([pairs, position])

    def _count(self, owner: Rows, position: Rows, mine: Pair, others: Pair) -> Votes:
        seen = self.seen
        padded_ids, padded_values = np.append(seen.encoded.attributes, -1), np.append(seen.values, 1.0)
        attribute, value = padded_ids[position], padded_values[position]  # -1 stands for the label pair
        weight = self._weights(self._lookup(attribute, *mine))
        lacking = self.contrast.other[owner] < 0
        other = self._weights(np.where(lacking, -1, self._lookup(attribute, *others)))
        with np.errstate(over="ignore"):  # weights close to the largest float
            vote = value * (np.nan_to_num(weight) - np.nan_to_num(other))
        kept = np.flatnonzero((np.nan_to_num(weight) != 0) | (np.nan_to_num(other) != 0))
        kept = kept[np.lexsort((-np.abs(vote[kept]), owner[kept]))]
        bounds = np.searchsorted(owner[kept], np.arange(len(self.contrast.tokens) + 1))
        return Votes(bounds, position[kept], value[kept], weight[kept], other[kept], vote[kept])

    def _weights(self, rows: Rows) -> Floats:
        if not len(self.seen.table.weights):
            return np.full(len(rows), np.nan)
        weights = self.seen.table.weights[rows].astype(np.float64)
        return np.where(rows >= 0, weights, np.nan)
