"""Arrays of a model file as the core takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_stored(arrays: Mapping[str, NDArray[Any]], name: str, kind: type[np.generic]) -> NDArray[Any]:
    """The array of that name, unchanged: it may be part of a mapped file. Another type is refused."""
    array = arrays[name]
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"{name}: an array of type {array.dtype} and shape {array.shape}")
    return array
