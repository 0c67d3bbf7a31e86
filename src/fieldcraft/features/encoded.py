"""A corpus as attribute ids: what every kind of feature extraction hands to the design.

Layout: sequence ``i`` holds tokens ``offsets[i] .. offsets[i+1]``; token ``t`` holds the attributes
``attributes[token_ptr[t] : token_ptr[t+1]]``. ``values`` is None when all of them are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Encoded(NamedTuple):
    """Attribute incidences of a corpus, ragged twice: sequences of tokens, tokens of attributes."""

    offsets: NDArray[np.int64]  # [N + 1]
    token_ptr: NDArray[np.int64]  # [tokens + 1]
    attributes: NDArray[np.int32]  # [nnz]
    values: NDArray[np.float64] | None  # [nnz]
