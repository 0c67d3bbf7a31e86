"""The features of skip chains: those of a chain, and those of pairs that the training data supports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design, resolve_features, windows_of
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.paired import EncodedPairs, PairFeatures
from fieldcraft.structures.skip_chain import SkipChain
from fieldcraft.structures.skip_graphs import Pairs

Ints = NDArray[np.int64]
PARTS = ("node", "edge", "skip")


def with_pairs(
    design: Design, encoder: PairFeatures, structure: SkipChain, *, features: str, min_count: int
) -> Design:
    """The design of a chain with the features of its pairs, behind the others."""
    encoded = design.encoded
    assert isinstance(encoded, EncodedPairs)
    every = resolve_features(features).all_transitions
    more = _pair_index(encoder, encoded, design.gold, structure, min_count=min_count, every=every)
    index = replace(
        design.index,
        parts=PARTS,
        codes=design.index.part,
        n_attributes=encoder.n_attributes,
        windows=windows_of(encoder),
    )
    return replace(design, index=index.append(more), counted=None)


def _pair_index(
    encoder: PairFeatures,
    encoded: EncodedPairs,
    gold: NDArray[np.int32],
    structure: SkipChain,
    *,
    min_count: int,
    every: bool,
) -> FeatureIndex:
    """Attributes of pairs with the classes of label pairs that occur with them; last, classes alone."""
    table = structure.configurations()["skip"]
    n = len(table)
    classes = structure.gold_classes(Pairs(encoded.scope, encoded.pairs.offsets), gold)
    rows = encoded.pairs
    of = np.repeat(classes, np.diff(rows.token_ptr))
    observed = rows.attributes.astype(np.int64)
    keys, count = np.unique((observed * n + of)[of >= 0], return_counts=True)
    alone, alone_count = np.unique(classes[classes >= 0], return_counts=True)
    if every:
        seen = np.unique(observed)
        keys, count = _all_of((seen[:, None] * n + np.arange(n)).ravel(), keys, count)
        alone, alone_count = _all_of(np.arange(n), alone, alone_count)
    else:
        keys, count = keys[count >= min_count], count[count >= min_count]
        alone, alone_count = alone[alone_count >= min_count], alone_count[alone_count >= min_count]
    family = np.bincount(rows.attributes, minlength=encoder.n_attributes)
    attribute = np.concatenate([keys // n, np.full(len(alone), -1)]).astype(np.int32)
    labels = np.full((len(attribute), 2), -1, np.int32)
    labels[:, 2 - table.shape[1] :] = table[np.concatenate([keys % n, alone])]
    template = np.where(attribute >= 0, np.append(encoder.attribute_template, -1)[attribute], -1)
    families = np.where(attribute >= 0, np.append(family, len(classes))[attribute], len(classes))
    return FeatureIndex(
        attribute,
        labels,
        template.astype(np.int32),
        np.concatenate([count, alone_count]).astype(np.int32),
        families.astype(np.int32),
        windows_of(encoder),
        encoder.n_attributes,
        PARTS,
        np.full(len(attribute), PARTS.index("skip"), np.uint8),
    )


def _all_of(whole: Ints, keys: Ints, count: Ints) -> tuple[Ints, Ints]:
    counts = np.zeros(len(whole), np.int64)
    counts[np.searchsorted(whole, keys)] = count
    return whole, counts
