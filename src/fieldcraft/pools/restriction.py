"""A design with some of its features and sequences: what an expert is trained on.

Attributes that have no feature left are dropped from the tokens, so that training costs what the features
that remain cost. Ids of attributes stay those of the shared encoder.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.pools.expert import Mask


def restricted(design: Design, mask: Mask | None, sequences: NDArray[np.int64] | None = None) -> Design:
    """A design with some features and sequences; attributes that have no feature are left out of tokens."""
    if sequences is not None:
        tokens = design.encoded.tokens_of(sequences)
        design = replace(design, encoded=design.encoded.take(sequences), gold=design.gold[tokens])
    if mask is None or mask.all():
        return design
    index = design.index.select(mask)
    return replace(design, index=index, encoded=with_features(design.encoded, index))


def with_features(encoded: Encoded, index: FeatureIndex) -> Encoded:
    """Tokens with the attributes that have a feature."""
    has = np.zeros(index.n_attributes, bool)
    has[index.attribute[index.attribute >= 0]] = True
    kept = has[encoded.attributes]
    before = np.concatenate([[0], np.cumsum(kept)])
    values = None if encoded.values is None else encoded.values[kept]
    ptr = before[encoded.token_ptr].astype(np.int64)
    return Encoded(encoded.offsets, ptr, encoded.attributes[kept], values)
