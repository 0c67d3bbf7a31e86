"""The features of segments that the training data supports.

Features of tokens are counted with the states of tokens, as those of a chain are; features of the sides of
segments with the type of the segment that begins or ends there; features of whole segments with its type.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design, build_design, resolve_features, windows_of
from fieldcraft.features.classes import with_classes
from fieldcraft.features.encoded import Encoded, gather
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.segmented import SegmentFeatures
from fieldcraft.structures.segments import Segments

Ints = NDArray[np.int64]
PARTS = ("node", "edge", "first", "last", "segment")


def build_segment_design(
    encoder: SegmentFeatures,
    encoded: Encoded,
    gold: NDArray[np.int32],
    structure: Segments,
    *,
    features: str,
    min_count: int,
    n_jobs: int,
) -> Design:
    """Count the configurations in the corpus and make the feature index; ``gold`` [tokens] are states."""
    first, second, total = encoder.starts
    tokens = _within(encoded, 0, first)
    design = build_design(
        encoder.tokens,
        tokens,
        gold,
        structure.n_states,
        features=features,
        min_count=min_count,
        n_jobs=n_jobs,
    )
    index = with_classes(design.index, structure)
    end, length, kind = structure.space.segments(gold, encoded.offsets)
    rows = {"first": (end - length + 1).astype(np.int64), "last": end.astype(np.int64)}
    rows["segment"] = end.astype(np.int64) * structure.longest + length - 1
    sides = _within(encoded, first, second)
    template, parts = encoder.attribute_template, [t.part for t in encoder.templates]
    part_of = np.array([PARTS.index(part) for part in parts], np.uint8)[template]  # [A]
    blocks = []
    for name in ("first", "last", "segment"):
        own = sides if name != "segment" else encoded.cells
        if own is None:
            continue
        mine = part_of == PARTS.index(name)
        everywhere = resolve_features(features).all_states
        blocks.append(
            _counted(own, rows[name], kind, mine, structure.space.n_types, min_count, every=everywhere)
        )
    columns = [np.concatenate(column) for column in zip(*blocks)] if blocks else [np.zeros(0, np.int64)] * 4
    attribute, label, count, family = (column.astype(np.int32) for column in columns)
    labels = np.stack([np.full(len(label), -1, np.int32), label], axis=1)
    more = FeatureIndex(
        attribute,
        labels,
        template[attribute],
        count,
        family,
        windows_of(encoder),
        total,
        PARTS,
        part_of[attribute],
    )
    coded = replace(index, parts=PARTS, codes=index.part, n_attributes=total, windows=windows_of(encoder))
    return Design(encoded, gold, coded.append(more))


def _counted(
    encoded: Encoded,
    rows: Ints,
    kind: NDArray[np.int32],
    mine: NDArray[np.bool_],
    n_types: int,
    min_count: int,
    *,
    every: bool,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Attributes, types, counts and counts of the attribute alone, of the features of one part."""
    at, ptr = gather(encoded.token_ptr, rows)
    attributes = encoded.attributes[at].astype(np.int64)
    types = np.repeat(kind, np.diff(ptr)).astype(np.int64)
    kept = mine[attributes]
    keys, count = np.unique(attributes[kept] * n_types + types[kept], return_counts=True)
    if every:
        seen = np.unique(encoded.attributes[mine[encoded.attributes]]).astype(np.int64)
        whole = (seen[:, None] * n_types + np.arange(n_types)).ravel()
        counts = np.zeros(len(whole), np.int64)
        counts[np.searchsorted(whole, keys)] = count
        keys, count = whole, counts
    else:
        keys, count = keys[count >= min_count], count[count >= min_count]
    family = np.bincount(encoded.attributes, minlength=len(mine))
    return keys // n_types, keys % n_types, count, family[keys // n_types]


def _within(encoded: Encoded, low: int, high: int) -> Encoded:
    """The attributes low .. high - 1 of tokens, with their ids."""
    kept = (encoded.attributes >= low) & (encoded.attributes < high)
    if kept.all():
        return Encoded(*encoded)
    ptr = np.concatenate([[0], np.cumsum(kept)])[encoded.token_ptr].astype(np.int64)
    values = None if encoded.values is None else encoded.values[kept]
    return Encoded(encoded.offsets, ptr, encoded.attributes[kept], values)
