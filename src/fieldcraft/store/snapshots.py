"""Training snapshots: the optimiser's state, written whole or not at all."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store.files import read_arrays, write_arrays

KIND = "snapshot"
FORMAT = 2  # of the training state; 1, without a number, belongs to optimisers of earlier versions


def write_snapshot(path: str | os.PathLike[str], digest: str, state: dict[str, Any]) -> None:
    """Replace the snapshot at ``path`` by ``state``."""
    header = {"kind": KIND, "snapshot": FORMAT, "digest": digest, "checksum": _checksum(state)}
    write_arrays(path, header, state)


def read_snapshot(path: str | os.PathLike[str], digest: str) -> dict[str, Any] | None:
    """The state at ``path``, None if there is none yet; refused if another training or version wrote it."""
    if not Path(path).exists():
        return None
    header, arrays = read_arrays(path)
    if header.get("kind") != KIND:
        raise ModelFileError(f"{os.fspath(path)} is not a training snapshot")
    if header.get("snapshot") != FORMAT:
        raise InputError(
            f"{os.fspath(path)} was written by another version of fieldcraft, which this one cannot "
            "continue; remove it and begin anew"
        )
    if header.get("digest") != digest:
        raise InputError(
            f"{os.fspath(path)} is a snapshot of another training (data, features, prior or optimiser "
            "differ); remove it or pass the same data and settings"
        )
    state = {name: np.array(array) for name, array in arrays.items()}
    if header.get("checksum") != _checksum(state):
        raise ModelFileError(
            f"{os.fspath(path)} is damaged: its content has changed; remove it and begin anew"
        )
    return state


def _checksum(state: dict[str, Any]) -> int:
    """Of all arrays with their names, types and shapes: an optimiser takes its state as it comes."""
    total = 0
    for name in sorted(state):
        array = np.ascontiguousarray(state[name])
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode("utf-8", "surrogatepass"), total)
        total = zlib.crc32(array.reshape(-1).view(np.uint8).data, total)
    return total
