"""Binary models of CRFsuite, read and written.

Numbers are little-endian; positions are uint32 and counted from the beginning of the file:

    header      "lCRF", size, "FOMC", version, 0, n labels, n attributes, five positions: the blocks below
    "FEAT"      size, n; then for each feature: type (0 attribute with label, 1 label pair), source and target
                (uint32) and weight (float64)
    "CQDB"      labels; "CQDB" attributes (cqdb.py)
    "LFRF"      size, n labels + 2, positions; at each position the numbers of the features that begin there
    "AFRF"      size, n attributes, positions; likewise the features of each attribute
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.store.importers import cqdb
from fieldcraft.store.importers.imported import Features, Imported, imported

HEADER = struct.Struct("<4sI4s9I")
VERSION = 100
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
MOST_BYTES = (1 << 32) - 1


def read(content: bytes) -> Imported:
    """The model in a file's content; ValueError if it is damaged."""
    if len(content) < HEADER.size:
        raise ValueError(f"it has {len(content)} bytes")
    magic, _, kind, version, _, n_labels, n_attributes, at, labels_at, attributes_at, _, _ = HEADER.unpack(
        content[: HEADER.size]
    )
    if magic != b"lCRF" or kind != b"FOMC" or version != VERSION:
        raise ValueError(f"version {version} of type {kind!r}; version {VERSION} of 'FOMC' is known")
    data = np.frombuffer(content, np.uint8)
    labels = _strings(*cqdb.read(data, labels_at))
    names, starts = cqdb.read(data, attributes_at)
    if len(labels) != n_labels or len(starts) - 1 != n_attributes:
        raise ValueError("the tables of strings do not fit the header")
    features = _features(content, at)
    pairs = features["type"] == 1
    if np.any(features["type"] > 1):
        raise ValueError("a feature is of an unknown type")
    source = features["source"].astype(np.int64)
    return imported(
        "CRFsuite",
        labels,
        _encoder(names, starts),
        [
            Features(
                np.where(pairs, -1, source),
                np.where(pairs, source, -1),
                features["target"].astype(np.int64),
                features["weight"].astype(np.float64),
            )
        ],
        {"format": "attributes"},
    )


def _features(content: bytes, at: int) -> NDArray[Any]:
    if content[at : at + 4] != b"FEAT" or at + 12 > len(content):
        raise ValueError(f"there is no table of features at {at}")
    n = int.from_bytes(content[at + 8 : at + 12], "little")
    if at + 12 + n * FEATURE.itemsize > len(content):
        raise ValueError("the table of features is cut short")
    return np.frombuffer(content, FEATURE, n, at + 12)


def _encoder(names: NDArray[np.uint8], starts: NDArray[np.int64]) -> FreeFeatures:
    """Attributes by their names; ValueError if one occurs twice or is not UTF-8."""
    names.tobytes().decode()  # raises where it is not
    offsets = starts.astype(np.uint32)
    state = {"names": names, "starts": offsets, "slots": _core.string_slots(names, offsets)}
    return FreeFeatures.from_state({"hash_size": None, "edge_prefix": None}, state)


def _strings(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[str]:
    content = data.tobytes()
    return [content[a:b].decode() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist())]


def write(labels: list[str], attributes: list[str], features: Features) -> bytes:
    """The content of a model file; features of pairs have the attribute -1."""
    n = len(features.label)
    order = np.lexsort((features.label, features.previous, features.attribute, features.attribute < 0))
    attribute, previous, label = (
        column[order] for column in (features.attribute, features.previous, features.label)
    )
    pairs = attribute < 0
    rows = np.zeros(n, FEATURE)
    rows["type"], rows["target"], rows["weight"] = pairs, label, features.weight[order]
    rows["source"] = np.where(pairs, previous, attribute)
    parts = [struct.pack("<4sII", b"FEAT", 12 + rows.nbytes, n) + rows.tobytes()]
    parts += [cqdb.write([name.encode() for name in names]) for names in (labels, attributes)]
    positions = HEADER.size + np.cumsum([0, *map(len, parts)])
    padding = -int(positions[3]) % 4
    parts.append(b"\0" * padding)
    label_refs_at = int(positions[3]) + padding
    numbers = np.arange(n)
    parts.append(_references(b"LFRF", label_refs_at, len(labels), 2, previous[pairs], numbers[pairs]))
    attribute_refs_at = label_refs_at + len(parts[-1])
    parts.append(
        _references(b"AFRF", attribute_refs_at, len(attributes), 0, attribute[~pairs], numbers[~pairs])
    )
    size = attribute_refs_at + len(parts[-1])
    if size > MOST_BYTES:
        raise ValueError(f"it would have {size} bytes; models of CRFsuite have at most {MOST_BYTES}")
    where = [int(p) for p in positions[:3]]
    header = HEADER.pack(
        *(b"lCRF", size, b"FOMC", VERSION, 0, len(labels), len(attributes)),
        *(*where, label_refs_at, attribute_refs_at),
    )
    return b"".join([header, *parts])


def _references(
    name: bytes, at: int, n: int, extra: int, source: NDArray[np.int64], numbers: NDArray[np.int64]
) -> bytes:
    """A block of references; ``numbers`` are sorted by ``source``, ``extra`` positions stay 0."""
    count = np.bincount(source, minlength=n)
    begin = 12 + 4 * (n + extra)
    position = at + begin + 4 * (np.cumsum(1 + count) - 1 - count)
    body = np.empty(n + len(numbers), "<u4")
    heads = np.cumsum(1 + count) - 1 - count
    is_head = np.zeros(len(body), bool)
    is_head[heads] = True
    body[heads], body[~is_head] = count, numbers
    size = begin + body.nbytes
    table = np.concatenate([position, np.zeros(extra, np.int64)])
    return struct.pack("<4sII", name, size, n + extra) + table.astype("<u4").tobytes() + body.tobytes()
