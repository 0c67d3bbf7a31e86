"""Checksums of a file's parts: CRC-32C of its directory and of each array.

The directory is everything before the arrays: the eight bytes with its length, the names, types, shapes and
offsets of the arrays, our header, and the blanks that fill it up. The checksums are one more array:

    checksums  uint32 [1 + arrays]   of the directory, then of the other arrays in the directory's order

and the header says ``"checksums": "crc32c"``. Each of the two requires the other, so that damage to a name
cannot switch the comparison off. The checksum of the directory is not inside the directory, so that nothing
must be left out when it is computed. Arrays follow one another without a gap to the end of the file: every
byte has a checksum, or is part of one.

Files without them load as before. An earlier version could write digests of arrays into the header (a dict
under the same name); they are not compared any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import ModelFileError

NAME, METHOD = "checksums", "crc32c"
REMEDY = "remove it, or replace it by an intact copy"
Sums = NDArray[np.uint32]


def crc32c(data: Any) -> int:
    """The CRC-32C of an array's bytes or of a buffer."""
    array = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    return _core.crc32c(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def taken(name: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Sums | None:
    """Take the checksums out of header and arrays; None if the file has none."""
    method, sums = header.pop(NAME, None), arrays.pop(NAME, None)
    if sums is None and (method is None or isinstance(method, dict)):
        return None
    if method != METHOD:
        raise ModelFileError(f"{name} is damaged, or newer: its checksums are {method!r}, not {METHOD!r}")
    if sums is None or sums.dtype != np.uint32 or sums.shape != (1 + len(arrays),):
        raise ModelFileError(f"{name} is damaged: it does not have a checksum for each array; {REMEDY}")
    return sums


def compare_directory(name: str, directory: Any, sums: Sums) -> None:
    """Raise a ModelFileError if the bytes before the arrays are not those that were written."""
    if crc32c(directory) != sums[0]:
        raise ModelFileError(
            f"{name} is damaged: its directory or header has changed since it was written; {REMEDY}"
        )


def compare_arrays(name: str, arrays: Mapping[str, NDArray[Any]], sums: Sums) -> None:
    """Raise a ModelFileError that names the first array whose content has changed."""
    for (key, array), expected in zip(arrays.items(), sums[1:].tolist()):
        if crc32c(array) != expected:
            raise ModelFileError(
                f"{name} is damaged: the content of {key} has changed since it was written; {REMEDY}"
            )
