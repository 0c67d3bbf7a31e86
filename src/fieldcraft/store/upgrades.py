"""Converts model files of older formats, step by step.

1 -> 2  attribute tables are stored ready to use, features sorted (features/packed.py); settings in groups
2 -> 3  the index names its layout, since the states of a model need not be its labels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.features.index import COLUMNS, FeatureIndex
from fieldcraft.features.joined import ends, joined
from fieldcraft.features.packed import PackedIndex
from fieldcraft.store.files import FORMAT

Arrays = dict[str, NDArray[Any]]
Model = tuple[dict[str, Any], Arrays]
MOST_BUCKETS = 1 << 21  # of a hashed model in format 1, which does not contain an array of them


def upgrade(header: dict[str, Any], arrays: Arrays) -> Model:
    """Header and arrays of a model in the current format."""
    while header["format"] < FORMAT:
        header, arrays = UPGRADES[header["format"]](header, arrays)
    return header, arrays


def _from_1(header: dict[str, Any], arrays: Arrays) -> Model:
    n = len(arrays["weights"])
    blank = np.zeros(n, np.int32)
    columns: dict[str, Any] = {name: np.array(arrays.get(f"index.{name}", blank)) for name in COLUMNS}
    labels = np.stack([columns.pop("previous"), columns.pop("label")]).T
    windows = arrays["index.windows"]
    n_attributes = int(header["n_attributes"])
    if n_attributes > max(MOST_BUCKETS, sum(map(len, arrays.values()))):
        raise ValueError(f"{n_attributes} attributes do not exist")
    index = FeatureIndex(**columns, labels=labels, windows=windows, n_attributes=n_attributes)
    packed = PackedIndex.of(index, len(header["labels"]))
    counted = "index.count" in arrays
    raised = {f"index.{k}": v for k, v in packed.to_file(counts=counted).items()}
    raised["weights"] = packed.places(np.ascontiguousarray(arrays["weights"], np.float64))
    tables = {k.removeprefix("encoder."): v for k, v in arrays.items() if k.startswith("encoder.")}
    raise_tables = {"free": _free_from_1, "templates": _templates_from_1}[header["encoder"]["kind"]]
    raised |= {f"encoder.{k}": v for k, v in raise_tables(tables, len(windows)).items()}
    grouped = ("decoding", "metric", "features", "min_count", "random_state")
    return {
        "format": 2,
        "kind": header["kind"],
        "labels": header["labels"],
        "encoder": header["encoder"],
        "index": packed.numbers,
        "parameters": {name: header[name] for name in grouped},
        "prior": header["prior"],
        "optimiser": header["optimiser"],
        "provenance": {"fieldcraft": header["fieldcraft"]},
    }, raised


def _free_from_1(tables: Arrays, n_templates: int) -> Arrays:
    del n_templates
    starts = tables["starts"].astype(np.uint32)
    return {"names": tables["names"], "starts": starts, "slots": _core.string_slots(tables["names"], starts)}


def _templates_from_1(tables: Arrays, n_templates: int) -> Arrays:
    raised: Arrays = {k: v for k, v in tables.items() if k in ("maps", "map_ptr", "pair_ptr")}
    if raised:
        raised |= _strings_from_1(tables) | _pairs_from_1(tables)
        raised |= _attributes_from_1(tables, n_templates)
    for name, array in tables.items():
        if name.endswith(".word_bytes"):
            start = name.removesuffix("word_bytes")
            starts = tables[f"{start}word_starts"].astype(np.uint32)
            raised |= {f"{start}{k}": tables[f"{start}{k}"] for k in ("words", "starts")}
            raised |= {f"{start}word_bytes": array, f"{start}word_starts": starts}
            raised[f"{start}word_slots"] = _core.string_slots(array, starts)
    return raised


def _strings_from_1(tables: Arrays) -> Arrays:
    """Tables of keys, one after the other, each with its offsets."""
    data, starts, bounds = tables["string_bytes"], tables["string_starts"], tables["string_tables"]
    local = [(starts[a : b + 1] - starts[a]).astype(np.uint32) for a, b in zip(bounds[:-1], bounds[1:])]
    edges = starts[bounds]  # [tables + 1] where the bytes of each begin
    slots = [_core.string_slots(data[a:b], at) for a, b, at in zip(edges[:-1], edges[1:], local)]
    return {
        "string_bytes": data,
        "string_starts": joined(local, np.uint32),
        "string_slots": joined(slots, np.uint32),
        "byte_ptr": edges,
        "start_ptr": ends(local),
        "string_slot_ptr": ends(slots),
    }


def _pairs_from_1(tables: Arrays) -> Arrays:
    pairs, ptr = tables["pairs"].reshape(-1, 2).astype(np.uint64), tables["pair_ptr"]
    keys = (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]
    slots = [_core.pair_slots(keys[a:b]) for a, b in zip(ptr[:-1], ptr[1:])]
    return {"pairs": keys, "pair_slots": joined(slots, np.uint64), "pair_slot_ptr": ends(slots)}


def _attributes_from_1(tables: Arrays, n_templates: int) -> Arrays:
    """Per template a table from values to attributes."""
    of_template, value = tables["attribute_template"], tables["attribute_value"]
    room = 4096 + len(tables["string_starts"]) + len(tables["pairs"])  # no node has more values
    if value.min(initial=0) < 0 or value.max(initial=0) >= room:
        raise ValueError("an attribute names a value that is not there")
    parts = []
    for k in range(n_templates):
        mine = np.flatnonzero(of_template == k)
        table = np.full(int(value[mine].max(initial=-1)) + 1, -1, np.int32)
        table[value[mine]] = mine
        parts.append(table)
    return {"tables": joined(parts, np.int32), "table_ptr": ends(parts)}


def _from_2(header: dict[str, Any], arrays: Arrays) -> Model:
    return {**header, "format": 3, "index": {"layout": "packed", **header["index"]}}, arrays


UPGRADES: dict[int, Callable[[dict[str, Any], Arrays], Model]] = {1: _from_1, 2: _from_2}
