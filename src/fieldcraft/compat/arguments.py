"""The arguments X and y of the estimator, and the arrays that it returns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus
from fieldcraft.errors import InputError
from fieldcraft.models.inputs import labels_of


def one_dimensional(values: list[Any]) -> NDArray[np.object_]:
    """A one-dimensional array of lists, also where all of them have one length."""
    out = np.empty(len(values), object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def is_only_for_chains(X: Any) -> bool:
    """Corpora and matrices, which CRFsuite does not know, and what is no list of sequences, an error."""
    if isinstance(X, (Corpus, str, bytes, dict)) or not hasattr(X, "__iter__"):
        return True
    first = X[0] if isinstance(X, (list, tuple)) and X else None
    return hasattr(first, "tocsr") or (isinstance(first, np.ndarray) and first.dtype.kind in "buif")


def pairs_of(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Sequences with their labels; both may be iterators, which are read one by one."""
    labels = labels_of(X, y) if y is None else y  # of a corpus, or an error
    for name, value in (("X", X), ("y", labels)):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            raise InputError(f"{name} is a {type(value).__name__}; it must be a list of sequences")
    if hasattr(X, "__len__") and hasattr(labels, "__len__") and len(X) != len(labels):
        raise InputError(f"X has {len(X)} sequences and y has {len(labels)}; they must agree")
    end = object()
    for i, pair in enumerate(zip_longest(X, labels, fillvalue=end)):
        if any(side is end for side in pair):
            raise InputError(f"X or y ends after {i} sequences and the other one goes on; they must agree")
        yield pair
