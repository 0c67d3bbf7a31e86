"""Selects unsupported features: label configurations that a briefly trained model considers probable.

A feature that does not occur in the training data can only lower the score of wrong labellings. That matters
where these are probable: features (attribute, y) with p(y_t = y | x) > p at some position t of the attribute,
and likewise pairs of labels, with an attribute or without. Their count is 0; they are appended, so that
weights keep their positions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.design import Design, Encoder, native_tokens
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.potentials import ChainWeights

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def with_likely_features(
    design: Design, encoder: Encoder, weights: Floats, n_states: int, least: float, n_jobs: int
) -> Design:
    """The design with the features whose configuration has a probability above ``least`` somewhere."""
    of_attribute = encoder.attribute_template  # [A]
    on_edge = np.array([t.part == "edge" for t in encoder.templates], np.uint8)[of_attribute]  # [A]
    potentials = ChainWeights.of(design.index, weights, n_states).apply(design.encoded)
    attribute, previous, label = _core.likely_features(
        potentials, native_tokens(design.encoded), on_edge, encoder.edge_bias, least, n_jobs
    )
    observed = attribute >= 0
    template = np.where(observed, of_attribute[attribute], -1) if len(of_attribute) else attribute
    fresh = FeatureIndex(
        attribute,
        np.stack([previous, label]).T,
        template.astype(np.int32),
        np.zeros(len(label), np.int32),
        _families(design.encoded, on_edge)[attribute],
        design.index.windows,
        design.index.n_attributes,
    )
    return replace(design, index=design.index.append(fresh))


def _families(encoded: Encoded, on_edge: NDArray[np.uint8]) -> Ints:
    """[A + 1] the number of positions of each attribute; last, the number of positions with a predecessor."""
    begins = np.zeros(len(encoded.token_ptr) - 1, bool)
    begins[encoded.offsets[:-1][np.diff(encoded.offsets) > 0]] = True
    token = np.repeat(np.arange(len(begins)), np.diff(encoded.token_ptr))
    counted = ~(begins[token] & (on_edge[encoded.attributes] > 0))  # a first token has no transition
    families = np.bincount(encoded.attributes[counted], minlength=len(on_edge) + 1)
    families[-1] = np.count_nonzero(~begins)
    return families.astype(np.int32)
