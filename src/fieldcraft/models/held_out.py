"""The score of weights on held-out data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.encoded import Encoded
from fieldcraft.labels import encode_labels, label_names
from fieldcraft.models.blocks import Predictor, Scorer
from fieldcraft.models.inputs import encode, labels_of
from fieldcraft.models.scored import Scored
from fieldcraft.optimisers.loop import Control
from fieldcraft.structures.structure import Structure

Floats = NDArray[np.float64]
SHARE = 0.1  # of the time of training that scoring may take
COST = (
    2.0  # of scoring a token, in shares of a token in an iteration (five corpora: 0.6 to 1.3, with LBFGS 1)
)
QUICK = 2000  # tokens that are scored in a millisecond or less
RAREST = 50  # iterations


def score_interval(n_tokens: int, n_held_out: int) -> int:
    """Iterations from one held-out score to the next, by the tokens of both sets alone.

    Scoring then takes about a tenth of the time of training. Small held-out sets are scored after each
    iteration, and every set after 50 iterations at the latest.

    >>> [score_interval(200_000, n) for n in (1_000, 20_000, 50_000, 1_000_000)]
    [1, 2, 5, 50]
    """
    if n_held_out < QUICK:
        return 1
    wanted = COST * n_held_out / (SHARE * n_tokens)
    return int(min(max(wanted + 0.5, 1), RAREST))


class HeldOut:
    """weights -> score; labels that training did not see count as errors.

    Parameters
    ----------
    encoder, structure : of the training
    scorer : weights -> an object that computes potentials with them
    X, y : held-out sequences and labels, or a corpus and None
    metric, decoding : names or objects, as in the estimator
    """

    def __init__(
        self,
        encoder: design_.Encoder,
        structure: Structure,
        scorer: Callable[[Floats], Scorer],
        X: Any,
        y: Any,
        *,
        metric: Any,
        decoding: Any,
    ) -> None:
        labels = labels_of(X, y)
        classes = structure.labels
        self.encoded = encode(X, encoder, grow=False, n_threads=structure.n_jobs)
        self.names = [*classes, *sorted(set(label_names(labels)) - set(classes))]
        self.gold = encode_labels(labels, self.names, self.encoded.offsets)
        chosen = resolve_metric(metric, labels)
        self.metric, self._score = chosen.name, chosen.on_ids(self.names)
        self._structure, self._scorer, self._decoding = structure, scorer, decoding

    def __call__(self, weights: Floats) -> float:
        return self.score(self.labels(weights))

    def labels(self, weights: Floats) -> NDArray[np.int32]:
        """[tokens] the labels that weights predict."""
        names = np.array(self._structure.labels, object)
        predictor = Predictor(names, self._structure, self._scorer(weights), self._decoding)
        return Scored(predictor, None, self.own_part(), keep=False).label_numbers()

    def own_part(self) -> Encoded:
        """The sequences that this process predicts."""
        return self.encoded

    def score(self, labels: NDArray[np.int32]) -> float:
        """The score of a labelling [tokens]."""
        return float(self._score(self.gold, labels, self.encoded.offsets))

    @property
    def n_tokens(self) -> int:
        """Tokens held out."""
        return len(self.gold)

    def parts(self) -> list[NDArray[Any] | None]:
        """Arrays that identify the data and the metric, for digests."""
        names = repr((self.metric, self.names)).encode("utf-8", "surrogatepass")
        return [*self.encoded.arrays(), self.gold, np.frombuffer(names, np.uint8)]


def identity_of(rules: Control) -> list[NDArray[Any] | None]:
    """Arrays that identify the held-out data and how its scores are used, for the digest of a snapshot."""
    if not isinstance(rules.held_out, HeldOut):
        return [None]
    return [*rules.held_out.parts(), np.array([(rules.score_every or 1) if rules.keeps_best() else 0])]


def unread(weights: Floats) -> float:
    """Placeholder for the held-out score until the data is read."""
    raise NotImplementedError
