"""Training snapshots: the optimiser's state, written atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store.files import read_arrays, write_arrays

KIND = "snapshot"
FORMAT = 2  # of the training state; 1, without a number, belongs to optimisers of earlier versions


def write_snapshot(path: str | os.PathLike[str], digest: str, state: dict[str, Any]) -> None:
    """Replace the snapshot at ``path`` by ``state``."""
    header = {"kind": KIND, "snapshot": FORMAT, "digest": digest}
    write_arrays(path, header, state, checksums=True)


def read_snapshot(path: str | os.PathLike[str], digest: str) -> dict[str, Any] | None:
    """The state at ``path``, None if the file does not exist.

    InputError if another training or version wrote it, ModelFileError if it is damaged.
    """
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
    if header.get("checksums", {}).keys() != arrays.keys():
        raise ModelFileError(f"{os.fspath(path)} is damaged: arrays without a checksum; remove it")
    return {name: np.array(array) for name, array in arrays.items()}
