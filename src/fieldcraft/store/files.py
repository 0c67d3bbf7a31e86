"""One safetensors file: arrays, and a JSON header of ours in its metadata.

Written to a temporary name in the same folder, synced and renamed: a reader sees the old file or the
new one, never half of one. No pickle, no code.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import ModelFileError

FORMAT = 1
META = "fieldcraft"


def write_arrays(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write header and arrays to ``path``, whole or not at all."""
    from safetensors.numpy import save

    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist; make it first")
    text = json.dumps({"format": FORMAT, **header})
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    data = save(flat, metadata={META: text})
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that ``write_arrays`` wrote."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    if not Path(path).exists():
        raise FileNotFoundError(f"{name}: no such file")
    try:
        with safe_open(name, framework="numpy") as file:
            text = (file.metadata() or {}).get(META)
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{name} is not a fieldcraft file, or is damaged: {error}") from None
    if text is None:
        raise ModelFileError(f"{name} is a safetensors file, but fieldcraft did not write it")
    try:
        header = json.loads(text)
    except ValueError as error:
        raise ModelFileError(f"{name} is damaged: its header is no JSON ({error})") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{name} is damaged: its header is no JSON object")
    if header.get("format") != FORMAT:
        raise ModelFileError(
            f"{name} has format {header.get('format')}; this fieldcraft reads format {FORMAT}"
        )
    return header, arrays


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
