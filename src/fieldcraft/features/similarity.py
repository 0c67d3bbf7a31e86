"""How close candidate segments are to the entries of a gazetteer.

    exact    the segment is an entry
    jaccard  shared words / all words of both
    cosine   of vectors tf * idf over character trigrams
    edit     1 - edit distance / length of the longer text

The largest similarity to any entry counts, in bins: 1, from 0.9, from 0.8, from the threshold. Below it there
is no attribute. Entries are found through an inverted index (native/similarity.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.gazetteers import Gazetteer

THRESHOLD = 0.7
EDGES = (THRESHOLD, 0.8, 0.9, 1.0 - 1e-9)  # lower ends of the bins; rounding must not part equal texts


class Nearest:
    """The nearest entries of a gazetteer.

    Parameters
    ----------
    gazetteer : its entries, compared as its ``case`` says
    similarity : "exact", "jaccard", "cosine" or "edit"

    >>> near = Nearest(Gazetteer("cities", ["New York", "Boston"]), "edit")
    >>> near.nearest(["to", "New", "Yorck"], 2)
    [((1, 3), 0.889)]
    """

    bins = ("0.7", "0.8", "0.9", "1")

    def __init__(self, gazetteer: Gazetteer, similarity: str) -> None:
        self.gazetteer, self.similarity = gazetteer, similarity

    @cached_property
    def _index(self) -> Any:
        from fieldcraft import _core

        return _core.nearest_index(self.similarity, THRESHOLD, entries_of(self.gazetteer))

    def similarities(
        self, words: Sequence[str], offsets: NDArray[np.int64], longest: int, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows of the cells that are near an entry, and the similarity to the nearest one.

        Row t * longest + d - 1 is the segment of d tokens that ends with token t.
        """
        number: dict[str, int] = {}
        ids = np.array([number.setdefault(word, len(number)) for word in words], np.int32)
        folded = [self.gazetteer.fold(word).encode("utf-8", "surrogatepass") for word in number]
        rows, values = self._index.cells(folded, ids, np.asarray(offsets, np.int64), longest, n_threads)
        return rows, values

    def cells(
        self, words: Sequence[str], offsets: NDArray[np.int64], longest: int, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same with the number of the bin in the place of the similarity."""
        rows, values = self.similarities(words, offsets, longest, n_threads)
        return rows, np.maximum(np.searchsorted(EDGES, values, side="right") - 1, 0)

    def nearest(self, words: Sequence[str], longest: int) -> list[tuple[tuple[int, int], float]]:
        """The near segments of one sequence, (start, end), with their similarities."""
        rows, values = self.similarities(words, np.array([0, len(words)]), longest)
        ends, lengths = rows // longest + 1, rows % longest + 1
        spans = zip((ends - lengths).tolist(), ends.tolist())
        return sorted(zip(spans, values.round(3).tolist()))


def entries_of(gazetteer: Gazetteer) -> list[bytes]:
    """The entries of a gazetteer as they are compared, words joined by a blank."""
    arrays = gazetteer.state()[1]
    text, starts = np.asarray(arrays["word_bytes"]).tobytes(), arrays["word_starts"].tolist()
    words = [text[a:b] for a, b in zip(starts, starts[1:])]
    row, bounds = arrays["words"].tolist(), arrays["starts"].tolist()
    return [b" ".join(words[i] for i in row[a:b]) for a, b in zip(bounds, bounds[1:])]
