"""A model of many weight vectors: each labels a sequence, and they vote (Freund & Schapire 1999).

The voters have the same features as the model. The labelling with most votes is the
prediction; probabilities are those of the model's weights, the mean of the voters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldcraft.features.encoded import Encoded
from fieldcraft.models.parameters import Scoring
from fieldcraft.structures.structure import Structure
from fieldcraft.structures.votes import elect

Floats = NDArray[np.float64]


class Voters:
    """Weight vectors with their votes.

    Parameters
    ----------
    scoring : the features
    votes : [V]
    placed : [V, F] weights, in the order of ``scoring.features``
    """

    def __init__(self, scoring: Scoring, votes: Floats, placed: Floats) -> None:
        if votes.ndim != 1 or len(votes) == 0 or len(placed) != len(votes) or not np.all(votes > 0):
            raise ValueError(f"{len(votes)} votes, all of which must be above 0, for {len(placed)} voters")
        self.votes = votes
        self.placed = placed
        self._scorers = [scoring.scorer(weights) for weights in placed]

    @classmethod
    def of(cls, scoring: Scoring, votes: Floats, weights: Floats) -> Voters:
        """From weights [V, F] in the order of the feature index."""
        return cls(scoring, votes, np.stack([scoring.features.places(vector) for vector in weights]))

    def labels(self, encoded: Encoded, structure: Structure) -> NDArray[np.int32]:
        """[tokens] the labellings with most votes."""
        states = [structure.argmax(scorer.potentials(encoded))[0] for scorer in self._scorers]
        return elect(structure.labels_of(np.stack(states)), self.votes, encoded.offsets)
