"""One safetensors file: arrays, and a JSON header of ours in its metadata.

Written to a temporary name in the same folder, synced and renamed: a reader sees the old file or the new one,
never a part of one. Read by mapping it: the arrays are views of the file's pages, which all processes share.
No pickle, no code. The directory of arrays is read here, number by number, since a file may be damaged or
hostile: anything that does not fit raises a ModelFileError. A header may have ``checksums``, the digests of
arrays by name; they are compared when the file is read, which then reads all of it.

Hazard: a mapped file must be replaced (as saving does), never written into.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import secrets
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import ModelFileError

FORMAT = 3
META = "fieldcraft"
MOST_HEADER = 1 << 22  # bytes; as Python objects they may take twelve times as much,
MOST_BRACKETS = 1 << 17  # lists and dicts, of two bytes each, far more
TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


def write_arrays(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    *,
    checksums: bool = False,
) -> None:
    """Write header and arrays to ``path`` atomically."""
    from safetensors.numpy import save

    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.exists() and not target.is_file():  # a device would be replaced by a file
        raise ModelFileError(f"{target} is a folder or a device; choose the name of a file")
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if checksums:
        header = {**header, "checksums": {name: digest_of(array) for name, array in flat.items()}}
    text = json.dumps({"format": FORMAT, **header}, default=_plain)
    if 2 * len(text) > MOST_HEADER:  # quotes double when it becomes a string of the directory
        raise ModelFileError(
            f"{target}: a header of {len(text)} bytes is too long; shorten labels or templates"
        )
    write_whole(target, save(flat, metadata={META: text}))


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new one."""
    target = Path(path)
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def name_of(source: str | os.PathLike[str] | bytes) -> str:
    """The name of a file in error messages."""
    return "the model" if isinstance(source, bytes) else os.fspath(source)


def read_arrays(
    source: str | os.PathLike[str] | bytes,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of ``write_arrays``, or of its content; arrays are views of the file."""
    name = name_of(source)
    if not isinstance(source, bytes) and not Path(source).exists():
        raise FileNotFoundError(f"{name}: no such file")
    try:
        content = source if isinstance(source, bytes) else _mapped(name)
        directory, start = _directory(content)
        metadata = directory.pop("__metadata__", None) or {}
        text = metadata.get(META)
        arrays, room = {}, len(content) - start
        for key, entry in directory.items():
            arrays[key] = _array(key, entry, content, start)
            room -= arrays[key].nbytes
            if room < 0:  # overlapping arrays that are not aligned are copied, which could fill the memory
                raise ValueError("its arrays overlap")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{name} is not a fieldcraft file, or is damaged: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None
    if text is None:
        raise ModelFileError(f"{name} is a safetensors file, but fieldcraft did not write it")
    header = _header(name, text)
    _compare_checksums(name, header.get("checksums"), arrays)
    return header, arrays


def digest_of(array: NDArray[Any]) -> str:
    """The digest of an array's type, shape and content."""
    hasher = hashlib.blake2b(f"{array.dtype.str} {array.shape}".encode(), digest_size=16)
    hasher.update(array.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()


def _compare_checksums(name: str, expected: Any, arrays: dict[str, NDArray[Any]]) -> None:
    if expected is None:
        return
    if not isinstance(expected, dict) or not expected.keys() <= arrays.keys():
        raise ModelFileError(f"{name} is damaged: it has checksums of arrays that it lacks")
    for key, digest in expected.items():
        if digest_of(arrays[key]) != digest:
            raise ModelFileError(
                f"{name} is damaged: the content of {key} has changed since it was written; remove it, or "
                "replace it by an intact copy"
            )


def _mapped(name: str) -> mmap.mmap | bytes:
    if not os.path.isfile(name):
        raise ValueError("it is not a regular file")
    with open(name, "rb") as file:
        empty = os.fstat(file.fileno()).st_size == 0  # which cannot be mapped
        return b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _directory(content: mmap.mmap | bytes) -> tuple[dict[str, Any], int]:
    """The directory of a safetensors file, and the offset where its arrays begin."""
    if len(content) < 8:
        raise ValueError(f"it has {len(content)} bytes")
    length = int.from_bytes(content[:8], "little")
    if length > min(len(content) - 8, MOST_HEADER):
        raise ValueError(f"its header would take {length} of {len(content)} bytes")
    return _parsed(content[8 : 8 + length].decode()), 8 + length


def _parsed(text: str) -> dict[str, Any]:
    if text.count("[") + text.count("{") > MOST_BRACKETS:
        raise ValueError(f"its header has more than {MOST_BRACKETS} brackets")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header


def _array(name: str, entry: dict[str, Any], mapped: mmap.mmap | bytes, start: int) -> NDArray[Any]:
    kind, shape = np.dtype(TYPES[entry["dtype"]]), entry["shape"]
    begin, end = entry["data_offsets"]
    numbers = [begin, end, *shape]
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or len(shape) > 8:
        raise ValueError(f"array {name!r} has shape {shape} at {begin} .. {end}")
    if not begin <= end <= len(mapped) - start or prod(shape) * kind.itemsize != end - begin:
        raise ValueError(f"array {name!r} of shape {shape} does not fit its place {begin} .. {end}")
    if begin == end:
        return np.empty(shape, kind)
    array: NDArray[Any] = np.frombuffer(mapped, kind, prod(shape), start + begin).reshape(shape)
    return array if array.flags.aligned else array.copy()


def _header(name: str, text: str) -> dict[str, Any]:
    try:
        header = _parsed(text)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{name} is damaged: its header is not JSON ({error})") from None
    version = header.get("format")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ModelFileError(
            f"{name} has format {version}; this fieldcraft reads formats 1 to {FORMAT}; "
            "a newer one may read it: pip install -U fieldcraft"
        )
    return header


def is_plain(value: Any) -> bool:
    """Whether a header can contain the value."""
    try:
        json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _plain(value: Any) -> Any:
    """Converts a NumPy scalar to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be saved")


def _sync_folder(folder: Path) -> None:
    """Syncs a folder, so that a new name survives a power cut; ignored where folders cannot be synced."""
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
