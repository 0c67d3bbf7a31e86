"""Training snapshots: the optimiser's state, written atomically."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.replacing import check_folder, is_special
from fieldcraft.store.files import read_file, write_arrays

KIND = "snapshot"
FORMAT = 5  # of the training state; smaller ones belong to optimisers of earlier versions


def check_snapshot(path: str | os.PathLike[str] | None, *, resume: bool) -> None:
    """Raise an error if no snapshot can be read from or written to ``path``, before any training."""
    if path is None:
        if resume:
            raise InputError("resume=True needs snapshot=, the file to continue from")
        return
    check_folder(path)
    if is_special(path):
        raise ModelFileError(f"{os.fspath(path)} is a folder or a device; choose the name of a file")


def write_snapshot(path: str | os.PathLike[str], digest: str, state: dict[str, Any]) -> None:
    """Replace the snapshot at ``path`` by ``state``."""
    header = {"kind": KIND, "snapshot": FORMAT, "digest": digest}
    write_arrays(path, header, state)


def keep_snapshot(
    path: str | os.PathLike[str], digest: str, callbacks: Iterable[Any], state: dict[str, Any]
) -> None:
    """Replace the snapshot at ``path``; if that fails (a full disk), warn, and the last one stays.

    Callbacks with a method ``warn`` get the warning; without any it is a RuntimeWarning.
    """
    try:
        write_snapshot(path, digest, state)
    except OSError as error:
        problem = (
            f"{os.fspath(path)}: the snapshot cannot be written ({error.strerror or error}); "
            "training continues, and the last snapshot is kept"
        )
        listeners = [callback.warn for callback in callbacks if hasattr(callback, "warn")]
        for listener in listeners:
            listener(problem)
        if not listeners:
            warnings.warn(problem, RuntimeWarning, stacklevel=2)


def read_snapshot(path: str | os.PathLike[str], digest: str) -> dict[str, Any] | None:
    """The state at ``path``, None if the file does not exist.

    InputError if another training or version wrote it, ModelFileError if it is damaged.
    """
    if not Path(path).exists():
        return None
    header, arrays, compared = read_file(path, verify=True)
    if header.get("kind") != KIND:
        raise ModelFileError(f"{os.fspath(path)} is not a training snapshot")
    if header.get("snapshot") != FORMAT or not compared:  # earlier ones had no checksums of this kind
        raise InputError(
            f"{os.fspath(path)} was written by another version of fieldcraft, which this one cannot "
            "continue; remove it and begin anew"
        )
    if header.get("digest") != digest:
        raise InputError(
            f"{os.fspath(path)} is a snapshot of another training (data, features, prior or optimiser "
            "differ); remove it or pass the same data and settings"
        )
    return {name: np.array(array) for name, array in arrays.items()}
