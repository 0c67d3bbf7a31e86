"""SciPy's sparse matrices as features: copied, then checked, then converted.

SciPy checks indices on request only, and its conversions read wherever they point. Checks are made on a copy:
the caller's matrix keeps its duplicates, and another thread may change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldcraft.errors import InputError

_INDICES = ("indptr", "indices", "row", "col", "offsets")  # of SciPy's formats


def own_csr(matrix: Any, sequence: int) -> Any:
    """A copy in CSR format, its rows sorted by column, duplicates added up; InputError if malformed."""
    try:
        for name in _INDICES:
            kind = getattr(getattr(matrix, name, None), "dtype", None)
            if kind is not None and kind.kind != "i":
                raise ValueError(f"{name} must be of type int32 or int64, not {kind}")
        csr = _checked(_checked(matrix.copy()).tocsr())
        csr.sum_duplicates()
    except (ValueError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"sequence {sequence}: the sparse matrix is malformed: {error}; check its indices and pointers"
        ) from None
    return csr


def _checked(matrix: Any) -> Any:
    """The matrix, if every index lies within it; formats not named here are checked when they are copied."""
    if matrix.format in ("csr", "csc", "bsr"):
        if np.any(matrix.indptr[1:] < matrix.indptr[:-1]):
            raise ValueError("indptr must not fall")
        matrix.check_format(full_check=True)
    return matrix
