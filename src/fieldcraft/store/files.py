"""One safetensors file: arrays, and a JSON header of ours in its metadata.

Written whole or not at all (replacing.py). Read by mapping it: the arrays are views of the file's pages,
which all processes share; or by reading it into memory. No pickle, no code. The directory of arrays is read
here, number by number, since a file may be damaged or hostile: anything that does not fit raises a
ModelFileError.

A file has checksums of its directory and of each array (checksums.py). The directory's is always compared,
those of the arrays in files of up to 64 MB, and beyond that on request, since it reads all of the file.

Hazard: a mapped file must be replaced (as saving does), never written into or truncated: the system ends a
process that reads a page that is no longer there (SIGBUS).
"""

from __future__ import annotations

import json
import mmap
import os
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import ModelFileError
from fieldcraft.replacing import is_special, replacing
from fieldcraft.store.checksums import METHOD, NAME, REMEDY, compare_arrays, compare_directory, crc32c, taken

FORMAT = 3
NEWEST = 4  # of files with entries that must be understood, listed in "requires"
UNDERSTOOD = ("calibration",)
META = "fieldcraft"
MOST_HEADER = 1 << 22  # bytes; as Python objects they may take twelve times as much,
MOST_BRACKETS = 1 << 17  # lists and dicts, of two bytes each, far more
MOST_COMPARED = 1 << 26  # bytes of a file whose arrays are compared with their checksums unasked
COMPRESSED = {  # how files begin that people compress models into, joblib's among them
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"]\0\0": "lzma",
    b"x\x01": "zlib",
    b"x^": "zlib",
    b"x\x9c": "zlib",
    b"x\xda": "zlib",
    b"PK\3\4": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
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


class Stored(NamedTuple):
    """The content of a file; ``compared`` says whether the arrays agree with checksums, None: it has none."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    compared: bool | None


def write_arrays(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    *,
    checksums: bool = True,
) -> None:
    """Write header and arrays to ``path``, whole or not at all."""
    from safetensors.numpy import save

    target = os.fspath(path)
    if is_special(target):  # a device would be replaced by a file
        raise ModelFileError(f"{target} is a folder or a device; choose the name of a file")
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if checksums:
        header = {**header, NAME: METHOD}
        flat[NAME] = np.zeros(1 + len(flat), np.uint32)
    text = json.dumps({"format": FORMAT, **header}, default=_plain)
    if 2 * len(text) > MOST_HEADER:  # quotes double when it becomes a string of the directory
        raise ModelFileError(
            f"{target}: a header of {len(text)} bytes is too long; shorten labels or templates"
        )
    data = save(flat, metadata={META: text})
    try:
        pieces = _with_checksums(data) if checksums else [data]
    except ValueError as error:  # a directory that could not be read again
        raise ModelFileError(f"{target}: {error}; shorten labels or templates") from None
    with replacing(target) as file:
        for piece in pieces:
            file.write(piece)


def _with_checksums(data: bytes) -> list[Any]:
    """The content of a file in pieces, with the zeros that stand for its checksums replaced by them."""
    directory, start = _directory(data)
    whole = memoryview(data)
    places = {k: entry["data_offsets"] for k, entry in directory.items() if k != "__metadata__"}
    begin, end = places.pop(NAME)
    parts = [whole[:start], *(whole[start + a : start + b] for a, b in places.values())]
    sums = np.array([crc32c(part) if len(part) else 0 for part in parts], np.uint32)
    return [whole[: start + begin], sums.tobytes(), whole[start + end :]]


def name_of(source: str | os.PathLike[str] | bytes) -> str:
    """The name of a file in error messages."""
    return "the model" if isinstance(source, bytes) else os.fspath(source)


def read_arrays(
    source: str | os.PathLike[str] | bytes, *, mapped: bool = True, verify: bool | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of ``write_arrays``, or of its content."""
    stored = read_file(source, mapped=mapped, verify=verify)
    return stored.header, stored.arrays


def _told(source: str | os.PathLike[str] | bytes, error: Exception) -> str:
    """What is wrong with a file that is none of ``write_arrays``."""
    head = source[:8] if isinstance(source, bytes) else b""
    if not isinstance(source, bytes) and Path(source).is_file():
        with open(source, "rb") as file:
            head = file.read(8)
    for start, method in COMPRESSED.items():
        if head.startswith(start):
            return f"is compressed ({method}), or is damaged; decompress it first"
    return f"is not a fieldcraft file, or is damaged: {error}"


def read_file(
    source: str | os.PathLike[str] | bytes, *, mapped: bool = True, verify: bool | None = None
) -> Stored:
    """The content of a file of ``write_arrays``, or of its bytes.

    mapped : the arrays are views of the file's pages; otherwise the file is read into memory
    verify : compare all arrays with their checksums; None does so in files of up to 64 MB
    """
    name = name_of(source)
    if not isinstance(source, bytes) and not Path(source).exists():
        raise FileNotFoundError(f"{name}: no such file")
    try:
        content = source if isinstance(source, bytes) else _content(name, mapped=mapped)
        text, arrays, start = _parts(content)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{name} {_told(source, error)}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None
    if text is None:
        raise ModelFileError(f"{name} is a safetensors file, but fieldcraft did not write it")
    header = _header(name, text)
    rest = len(content) - start - sum(array.nbytes for array in arrays.values())
    sums = taken(name, header, arrays)
    if sums is None:
        return Stored(header, arrays, None)
    if rest:
        raise ModelFileError(f"{name} is damaged: {rest} bytes belong to no array; {REMEDY}")
    compare_directory(name, memoryview(content)[:start], sums)
    if verify or (verify is None and len(content) <= MOST_COMPARED):
        compare_arrays(name, arrays, sums)
        return Stored(header, arrays, True)
    return Stored(header, arrays, False)


def _parts(content: mmap.mmap | bytes) -> tuple[Any, dict[str, NDArray[Any]], int]:
    """Our header as text (None if there is none), the arrays, and the offset where they begin."""
    directory, start = _directory(content)
    metadata = directory.pop("__metadata__", None) or {}
    arrays, room = {}, len(content) - start
    for key, entry in directory.items():
        arrays[key] = _array(key, entry, content, start)
        room -= arrays[key].nbytes
        if room < 0:  # overlapping arrays that are not aligned are copied, which could fill the memory
            raise ValueError("its arrays overlap")
    return metadata.get(META), arrays, start


def _content(name: str, *, mapped: bool) -> mmap.mmap | bytes:
    if not os.path.isfile(name):
        raise ValueError("it is not a regular file")
    with open(name, "rb") as file:
        if mapped and os.fstat(file.fileno()).st_size > 0:  # an empty file cannot be mapped
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return file.read()


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
        raise ValueError(f"array {name!r} of shape {shape} does not fit the bytes {begin} .. {end}")
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
    if not isinstance(version, int) or not 1 <= version <= NEWEST:
        raise ModelFileError(
            f"{name} has format {version}; this fieldcraft reads formats 1 to {NEWEST}; "
            "a newer version of fieldcraft may read it"
        )
    requires = header.get("requires", [])
    unknown = [entry for entry in requires if entry not in UNDERSTOOD] if isinstance(requires, list) else True
    if unknown:
        raise ModelFileError(
            f"{name} requires {requires!r}, of which this fieldcraft knows {', '.join(UNDERSTOOD)}; "
            "a newer version of fieldcraft may read it"
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
