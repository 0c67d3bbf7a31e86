"""The files that a command writes: checked before anything is read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.replacing import is_special


def keep_inputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Raise an InputError if a file to be written is one to be read, or is to be written twice.

    Files are the same if they have the same device and inode, so that links are recognised. `-` is standard
    output or input. What is not a regular file (a terminal, /dev/null) can be both read and written.
    """
    written = [name for name in outputs if name is not None]
    read = {_identity(name, sys.stdin): name for name in inputs if name is not None}
    read.pop(None, None)
    for name in written:
        source = read.get(_identity(name, sys.stdout))
        if source is not None:
            raise InputError(
                f"{_shown(name, '<stdout>')}: is the same file as the input {_shown(source, '<stdin>')}, "
                "which would be destroyed; choose another file for the output"
            )
    seen: set[str] = set()
    for name in written:
        path = os.path.realpath(name)
        if path in seen and name != "-" and not is_special(name):
            raise InputError(f"{name}: is named for two outputs; choose another file for one of them")
        seen.add(path)


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """The same, and raise an InputError if a file cannot be written, before any training."""
    named = [name for name in outputs if name is not None]
    keep_inputs(named, inputs)
    for name in named:
        _check_writable(name)


def _check_writable(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: a file cannot be written there; choose another path")


def _identity(name: str, standard: Any) -> tuple[int, int] | None:
    """Device and inode of a regular file; None for anything else, and for what is not there."""
    try:
        about = os.fstat(standard.fileno()) if name == "-" else os.stat(name)
    except (OSError, ValueError, AttributeError):  # no file, not a path at all, a replaced or closed stream
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


def _shown(name: str, standard: str) -> str:
    return standard if name == "-" else name
