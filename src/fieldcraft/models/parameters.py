"""What a trained model knows: its encoder, its features and their weights.

Packed as they are scored and stored; in full, one row per weight, only when someone asks. A model that is
loaded looks into its file, so that loading costs milliseconds and processes share the pages.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder, windows_of
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.packed import PackedIndex
from fieldcraft.potentials import ChainWeights

Floats = NDArray[np.float64]


class Parameters:
    """Features with their weights.

    Parameters
    ----------
    encoder : sequences -> attributes
    packed : the features
    placed : [F] their weights, in the order of ``packed``
    """

    def __init__(self, encoder: Encoder, packed: PackedIndex, placed: Floats) -> None:
        if packed.n_attributes != encoder.n_attributes:
            raise ValueError(f"features of {packed.n_attributes} attributes, not of {encoder.n_attributes}")
        self.encoder = encoder
        self.packed = packed
        self.placed = placed
        self.scorer = ChainWeights(packed, placed)  # checks every number
        if not placed.all():
            self.scorer = self._active_scorer()

    @classmethod
    def of(cls, encoder: Encoder, index: FeatureIndex, weights: Floats, n_states: int) -> Parameters:
        """From an index and weights in its order, which are copied."""
        packed = PackedIndex.of(index, n_states)
        return cls(encoder, packed, np.array(packed.places(np.asarray(weights, np.float64))))

    @cached_property
    def index(self) -> FeatureIndex:
        """One row per weight."""
        return self.packed.index(self.encoder.attribute_template, windows_of(self.encoder))

    @cached_property
    def weights(self) -> Floats:
        """[F] in the order of ``index``; not to be written to, since answers are computed from copies."""
        view: Floats = self.packed.features(self.placed).view()
        view.flags.writeable = False
        return view

    def _active_scorer(self) -> ChainWeights:
        """What has no weight takes no time, and sums have the order that they have without it."""
        active = self.weights != 0
        return ChainWeights.of(self.index.select(active), self.weights[active], self.packed.n_states)

    def without_zeros(self) -> Parameters:
        """The features whose weight is not 0, and the attributes that these need: the same answers."""
        active = self.weights != 0
        if active.all():
            return self
        index, weights = self.index.select(active), self.weights[active]
        if self.encoder.hash_size is not None:
            return Parameters.of(self.encoder, index, weights, self.packed.n_states)
        kept, attribute = np.unique(index.attribute[index.attribute >= 0], return_inverse=True)
        column = index.attribute.copy()
        column[column >= 0] = attribute
        encoder = self.encoder.keep(kept.astype(np.int64))
        index = index.with_attributes(column, len(kept))
        return Parameters.of(encoder, index, weights, self.packed.n_states)
