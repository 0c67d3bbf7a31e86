"""ChainCRF: the linear-chain conditional random field.

p(y | x) = exp(sum of weights of the features that hold) / Z(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.models.answers import Answers
from fieldcraft.models.learner import Learner
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.voting import Voters
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]


class ChainCRF(Answers, Learner):
    """Linear-chain conditional random field.

    Parameters
    ----------
    templates : what the model looks at: a named set ("simple", "tagging", "entities" …), template text,
        a Templates object, or None when X holds features
    prior : penalty on the weights: "gaussian", "laplacian", "elastic_net", "hyperbolic", "inequality", an
        object, or None; "auto" is the Gaussian, or none for optimisers that take no penalty
    optimiser : "auto", "lbfgs", "owlqn", or an object with settings
    objective : what is minimised on the data: "likelihood", "pointwise", "softmax_margin" … or an object of
        ``fc.objectives``; None for the optimiser's natural one
    labels : names of the labels, in order; None takes those that occur, sorted
    label_weights : how much the terms of each gold label count: a dict (others count 1) or "balanced"
    features : "supported" (configurations seen in training), "all", "all_states", "all_transitions", or
        "selected" (supported, and what a few iterations hold likely)
    min_count : features seen less often are left out
    states : "labels", or a StateSpace whose ``names`` are the labels in their order
    decoding : "viterbi" (the best labelling) or "posterior" (the best label at each position)
    metric : held-out score: "auto" is span F if the labels form a scheme, else token accuracy
    gazetteers : for templates that name them
    hash_size : hash attributes into so many ids instead of remembering them
    edge_prefix : free features whose name begins so are seen with the label pair
    tokenizer : how predict_text cuts strings: "words", "whitespace", "characters" or a Tokenizer
    warm_start : fit begins with the weights of the fit before, for the features that both have
    n_jobs : threads; None uses all allowed cores
    random_state : seed of sample()
    verbose : show progress

    Examples
    --------
    >>> X = [[["w=the", "first"], ["w=dog"]], [["w=a", "first"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = ChainCRF().fit(X, y)
    >>> crf.predict([[["w=the"], ["w=cat"]]]).tolist()
    [['DET', 'NOUN']]
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

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """The structure that a model over these labels runs on: a chain over ``states``."""
        if isinstance(self.states, StateSpace):
            if tuple(self.states.names) != tuple(labels):
                raise InputError(
                    f"states has the labels {', '.join(self.states.names)}, the model {', '.join(labels)}; "
                    "they must agree, also in their order"
                )
            return LinearChain(self.states, n_jobs=self._jobs())
        if self.states != "labels":
            raise InputError(f"states={self.states!r}; give 'labels' or a StateSpace")
        return LinearChain(StateSpace.labels(labels), n_jobs=self._jobs())

    def _jobs(self) -> int:
        return resolve_jobs(self.n_jobs)

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        """Become fitted: everything that answers need, ready to be shared between threads."""
        self.classes_ = np.array([*classes, None], object)[:-1]
        self._parameters, self.voters_ = parameters, voters
