"""A corpus as attribute ids: the output of every kind of feature extraction.

Layout: sequence ``i`` has the tokens ``offsets[i] .. offsets[i+1]``; token ``t`` has the attributes
``attributes[token_ptr[t] : token_ptr[t+1]]``. ``values`` is None when all of them are 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Encoded(NamedTuple):
    """Attribute incidences of a corpus, ragged twice: sequences of tokens, tokens of attributes."""

    offsets: NDArray[np.int64]  # [N + 1]
    token_ptr: NDArray[np.int64]  # [tokens + 1]
    attributes: NDArray[np.int32]  # [nnz]
    values: NDArray[np.float64] | None  # [nnz]

    @property
    def cells(self) -> Encoded | None:
        """The attributes of candidate segments, which take the place of tokens; None without any."""
        return None

    def take(self, sequences: NDArray[np.integer[Any]]) -> Encoded:
        """Some of the sequences, in the order of the argument."""
        tokens, offsets = gather(self.offsets, sequences)
        positions, token_ptr = gather(self.token_ptr, tokens)
        values = None if self.values is None else self.values[positions]
        made = Encoded(offsets, token_ptr, self.attributes[positions], values)
        return made if self.cells is None else EncodedSegments.of(made, self.cells.take(sequences))

    def for_part(self, part: str) -> Encoded:
        """The attributes that features of this part look at."""
        return self if part != "segment" or self.cells is None else self.cells

    def arrays(self) -> list[NDArray[Any] | None]:
        """All arrays, those of the cells last."""
        return [*self, *([] if self.cells is None else self.cells.arrays())]

    def tokens_of(self, sequences: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The positions of the tokens of some sequences."""
        return gather(self.offsets, sequences)[0]


class EncodedSegments(Encoded):
    """Attributes of tokens, and of candidate segments (``cells``)."""

    @classmethod
    def of(cls, tokens: Encoded, cells: Encoded) -> EncodedSegments:
        """Both of the same sequences."""
        made = cls(*tokens)
        made._cells = cells
        return made

    @property
    def cells(self) -> Encoded | None:
        return self._cells

    _cells: Encoded | None = None


def gather(ptr: NDArray[np.int64], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the entries of some rows, and the row pointer of these rows alone."""
    lengths = np.diff(ptr)[rows]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(ptr[:-1][rows] - new[:-1], lengths) + np.arange(new[-1]), new
