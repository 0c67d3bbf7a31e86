"""The estimator that every model of sequences is: parameters, training, answers, files.

A kind of model says on which structure it runs (``structure_for``), and registers a name for its files
(kinds.py). It adds no training and no answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fieldcraft.models.answers import Answers
from fieldcraft.models.learner import Learner
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.voting import Voters


class SequenceModel(Answers, Learner):
    """Base class of models of sequences; a subclass defines ``structure_for(labels)``.

    Parameters
    ----------
    states : for structures whose states are not the labels; see the subclass
    others : see ChainCRF
    """

    def __init__(
        self,
        templates: Any = None,
        *,
        prior: Any = "auto",
        optimiser: Any = "auto",
        objective: Any = None,
        labels: Any = None,
        label_weights: Any = None,
        features: str = "supported",
        min_count: int = 1,
        states: Any = "labels",
        decoding: str = "viterbi",
        metric: Any = "auto",
        gazetteers: Any = None,
        hash_size: int | None = None,
        edge_prefix: str | None = None,
        tokenizer: Any = "words",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.templates = templates
        self.prior = prior
        self.optimiser = optimiser
        self.objective = objective
        self.labels = labels
        self.label_weights = label_weights
        self.features = features
        self.min_count = min_count
        self.states = states
        self.decoding = decoding
        self.metric = metric
        self.gazetteers = gazetteers
        self.hash_size = hash_size
        self.edge_prefix = edge_prefix
        self.tokenizer = tokenizer
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- persistence ------------------------------------------------------------------------------

    def save(
        self,
        path: Any,
        *,
        compact: bool = False,
        float32: bool = False,
        zeros: bool = False,
        checksums: bool = False,
    ) -> None:
        """Write the model to one file, whole or not at all.

        Parameters
        ----------
        compact : leave out the features' counts, which only inspection needs
        float32 : store the weights in half the room, rounded
        zeros : store also the features whose weight is exactly 0, which change no answer
        checksums : store digests of all arrays, which loading compares; it then reads the whole file
        """
        from fieldcraft.models.persistence import save

        save(self, path, compact=compact, float32=float32, zeros=zeros, checksums=checksums)

    def __getstate__(self) -> dict[str, Any]:
        from fieldcraft.models.persistence import freeze

        return freeze(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from fieldcraft.models.persistence import thaw

        thaw(self, state)

    # -- inside -----------------------------------------------------------------------------------

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        """Become fitted: everything that answers need, ready to be shared between threads."""
        self.classes_ = np.array([*classes, None], object)[:-1]
        self._parameters, self.voters_ = parameters, voters
