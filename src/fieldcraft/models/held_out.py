"""The score of weights on data that they are not learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.index import FeatureIndex
from fieldcraft.features.packed import PackedIndex
from fieldcraft.models.inputs import encode, labels_of
from fieldcraft.potentials import ChainWeights
from fieldcraft.structures import queries

Floats = NDArray[np.float64]


class HeldOut:
    """weights -> score; labels unknown to training count as errors.

    Parameters
    ----------
    encoder, index, classes : of the training
    X, y : held-out sequences and labels, or a corpus and None
    metric, decoding : names or objects, as the estimator has them
    """

    def __init__(
        self,
        encoder: design_.Encoder,
        index: FeatureIndex,
        classes: Sequence[str],
        X: Any,
        y: Any,
        *,
        metric: Any,
        decoding: Any,
        n_jobs: int,
    ) -> None:
        labels = labels_of(X, y)
        self.n_jobs = n_jobs
        self.encoded = encode(X, encoder, grow=False, n_threads=n_jobs)
        self.names = [*classes, *sorted(set(design_.label_names(labels)) - set(classes))]
        self.gold = design_.encode_labels(labels, self.names, self.encoded.offsets)
        chosen = resolve_metric(metric, labels)
        self.metric, self._score = chosen.name, chosen.on_ids(self.names)
        self._packed = PackedIndex.of(index, len(classes))
        self._decode = queries.resolve_decoding(decoding)

    def __call__(self, weights: Floats) -> float:
        potentials = ChainWeights(self._packed, self._packed.places(weights)).apply(self.encoded)
        return self.score(self._decode(potentials, self.n_jobs))

    def score(self, states: NDArray[np.int32]) -> float:
        """The score of a labelling [tokens]."""
        return float(self._score(self.gold, states, self.encoded.offsets))

    def parts(self) -> list[NDArray[Any] | None]:
        """What tells it from another one."""
        told = repr((self.metric, self.names)).encode("utf-8", "surrogatepass")
        return [*self.encoded, self.gold, np.frombuffer(told, np.uint8)]
