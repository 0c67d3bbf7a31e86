"""A corpus as attribute ids: what every kind of feature extraction hands to the design.

Layout: sequence ``i`` holds tokens ``offsets[i] .. offsets[i+1]``; token ``t`` holds the attributes
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

    def take(self, sequences: NDArray[np.integer[Any]]) -> Encoded:
        """Some of the sequences, in the order given."""
        tokens, offsets = gather(self.offsets, sequences)
        places, token_ptr = gather(self.token_ptr, tokens)
        values = None if self.values is None else self.values[places]
        return Encoded(offsets, token_ptr, self.attributes[places], values)

    def tokens_of(self, sequences: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Where the tokens of some sequences stand."""
        return gather(self.offsets, sequences)[0]


def gather(ptr: NDArray[np.int64], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the entries of some rows, and their new row pointer."""
    lengths = np.diff(ptr)[rows]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(ptr[:-1][rows] - new[:-1], lengths) + np.arange(new[-1]), new
