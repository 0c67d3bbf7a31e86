"""The features of a model as the oracle names them."""

from __future__ import annotations

import numpy as np

import fieldcraft as fc

Feature = tuple[str | None, str | None, str]  # attribute, label before, label


def named(crf: fc.ChainCRF) -> list[Feature]:
    """In the order of the feature index."""
    index, names = crf.features_, crf.classes_.tolist()
    texts = crf.encoder_.attribute_text(np.maximum(index.attribute, 0))
    return [
        (text if a >= 0 else None, names[p] if p >= 0 else None, names[y])
        for text, a, p, y in zip(texts, index.attribute, index.previous, index.label)
    ]
