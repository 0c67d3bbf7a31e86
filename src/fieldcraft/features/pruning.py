"""Removes attributes from the tables of an extraction.

Attributes are removed from the templates' tables, and conjunctions that are no longer needed from the tables
of pairs, last ones first, since a longer conjunction is a pair whose left part is a pair. Strings stay: they
are few.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.features.joined import ends, joined, split

Arrays = dict[str, NDArray[Any]]


def keep_attributes(
    arrays: Mapping[str, NDArray[Any]], plan: dict[str, Any], ids: NDArray[np.int64]
) -> Arrays:
    """Tables and pairs of an extraction's state with the attributes ``ids`` alone."""
    n_streams = len(plan["streams"])
    tables = _renumbered(split(arrays["tables"], arrays["table_ptr"]), ids)
    keys = split(arrays["pairs"], arrays["pair_ptr"])
    used = [np.zeros(len(k), bool) for k in keys]
    for (node, *_), table in zip(plan["templates"], tables):
        if node >= n_streams:
            used[node - n_streams][np.flatnonzero(table >= 0)] = True
    for p in reversed(range(len(keys))):  # a pair's parts are earlier nodes
        for node, values in zip(plan["pairs"][p][:2], halves(keys[p][used[p]])):
            if node >= n_streams:
                used[node - n_streams][values] = True
    number = [np.cumsum(u) - 1 for u in used]  # the new number of each remaining pair
    kept = [_key(plan["pairs"][p], keys[p][used[p]], number, n_streams) for p in range(len(keys))]
    for k, (node, *_) in enumerate(plan["templates"]):
        if node >= n_streams and len(tables[k]):
            tables[k] = tables[k][used[node - n_streams]]
    slots = [_core.pair_slots(k) for k in kept]
    out: Arrays = {}
    for name, ptr, parts in (
        ("tables", "table_ptr", tables),
        ("pairs", "pair_ptr", kept),
        ("pair_slots", "pair_slot_ptr", slots),
    ):
        out[name], out[ptr] = joined(parts, arrays[name].dtype), ends(parts)
    return out


def _renumbered(tables: list[NDArray[Any]], ids: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    n = 1 + max((int(t.max(initial=-1)) for t in tables), default=-1)
    number = np.full(n + 1, -1, np.int32)  # the last entry serves -1
    number[ids] = np.arange(len(ids))
    return [number[t] for t in tables]


def halves(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the left and right parts of pairs."""
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _key(
    pair: list[int], keys: NDArray[np.uint64], number: list[NDArray[np.int64]], n_streams: int
) -> NDArray[np.uint64]:
    """Keys with the new numbers of their parts."""
    left, right = (
        number[node - n_streams][values] if node >= n_streams else values
        for node, values in zip(pair[:2], halves(keys))
    )
    packed: NDArray[np.uint64] = left.astype(np.uint64) << np.uint64(32) | right.astype(np.uint64)
    return packed
