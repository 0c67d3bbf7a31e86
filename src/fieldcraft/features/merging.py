"""One feature index for parts of a corpus that were counted apart.

A feature is seen as often as in all parts together; its observation too, also in parts where the feature
itself is not. Rows are in the order in which one process counts them (native/index.cpp): by attribute,
features without one first, then by the previous label, then by the label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import Ints, row_keys

Rows = tuple[Ints, Ints, Ints]  # attribute [F], labels [F, k], count [F]


def family_counts(encoded: Encoded, on_edge: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[A + 1] positions with each attribute, and last the steps from a token to the next.

    Attributes of label pairs (``on_edge``) are not counted at first tokens, which no step leads to.
    """
    firsts = encoded.offsets[:-1][np.diff(encoded.offsets) > 0]
    counts = np.bincount(encoded.attributes, minlength=len(on_edge) + 1)
    if on_edge.any():
        begin, end = encoded.token_ptr[firsts], encoded.token_ptr[firsts + 1]
        inside = np.repeat(begin - np.concatenate([[0], np.cumsum(end - begin)[:-1]]), end - begin)
        at_first = encoded.attributes[inside + np.arange(len(inside))]
        counts -= np.bincount(at_first[on_edge[at_first]], minlength=len(counts))
    counts[-1] = encoded.offsets[-1] - len(firsts)
    return counts.astype(np.int64)


def merged_rows(parts: list[Rows], least: int) -> Rows:
    """The rows of all parts, each once with the sum of its counts; those below ``least`` are left out."""
    attribute = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1].T for part in parts], axis=1)  # [k, rows]
    count = np.concatenate([part[2] for part in parts])
    none = np.zeros(0, np.int32)
    keys, _ = row_keys([attribute, *labels], [none] * (1 + len(labels)))
    _, first, row = np.unique(keys, return_index=True, return_inverse=True)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, row, count)
    kept = np.flatnonzero(total >= least)
    count = np.minimum(total[kept], np.iinfo(np.int32).max).astype(np.int32)
    return attribute[first[kept]], labels[:, first[kept]].T, count
