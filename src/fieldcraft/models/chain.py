"""ChainCRF: the linear-chain conditional random field.

p(y | x) = exp(sum of weights of the features that hold) / Z(x)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft import design as design_
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import resolve_metric
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.models.inputs import encode, labels_of, sequences_of
from fieldcraft.models.learner import Learner
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.spans import span_probabilities
from fieldcraft.models.voting import Voters
from fieldcraft.structures import queries
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

if TYPE_CHECKING:
    from fieldcraft.inspection import Explanation, Inspection
    from fieldcraft.models.text import TextSpan

Floats = NDArray[np.float64]


class ChainCRF(Learner):
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

    @property
    def weights_(self) -> Floats:
        """[F] one weight per feature, read-only."""
        self._require_fitted()
        return self._parameters.weights

    @property
    def features_(self) -> FeatureIndex:
        """The feature index: one row per weight."""
        self._require_fitted()
        return self._parameters.index

    @property
    def encoder_(self) -> design_.Encoder:
        """Sequences -> attributes."""
        self._require_fitted()
        return self._parameters.encoder

    # -- answers ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists."""
        encoded, potentials = self._apply(X)
        return self._lists(self._states(encoded, potentials), encoded.offsets)

    def decode(self, X: Any) -> list[Decoding]:
        """Labels with their log-probability, one Decoding per sequence."""
        encoded, potentials = self._apply(X)
        states = self._states(encoded, potentials)
        log_z = queries.log_partition(potentials, self._jobs())
        value = queries.log_share(queries.score(potentials, states, self._jobs()), log_z)
        exact = self.decoding == "viterbi" and self.voters_ is None
        return [
            Decoding(labels, float(v), exact, 0.0 if exact else float("nan"), self.decoding)
            for labels, v in zip(self._lists(states, encoded.offsets), value)
        ]

    def predict_proba(self, X: Any) -> NDArray[np.object_]:
        """Marginal probabilities: an object array of [T, Y] arrays in the order of ``classes_``."""
        encoded, potentials = self._apply(X)
        node = queries.node_marginals(potentials, self._jobs())
        out = np.empty(len(encoded.offsets) - 1, object)
        for i, (first, last) in enumerate(_ranges(encoded)):
            out[i] = node[first:last]
        return out

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Marginal probabilities as lists of dicts: label -> probability."""
        probabilities = self.predict_proba(X)
        names = self.classes_.tolist()
        return [[dict(zip(names, row)) for row in p.tolist()] for p in probabilities]

    def k_best(self, X: Any, k: int) -> list[list[tuple[list[str], float]]]:
        """Per sequence the k most probable labelings with their log-probabilities."""
        if k < 1:
            raise InputError(f"k is {k}; ask for at least one labelling")
        _, potentials = self._apply(X)
        log_z = queries.log_partition(potentials, self._jobs())
        return [
            [(self.classes_[path].tolist(), float(queries.log_share(s, z))) for path, s in zip(paths, scores)]
            for (paths, scores), z in zip(queries.k_best(potentials, k, self._jobs()), log_z)
        ]

    def sample(self, X: Any, n: int) -> list[list[list[str]]]:
        """Per sequence n labelings drawn from p(y | x); fixed by ``random_state``."""
        if n < 0:
            raise InputError(f"n is {n}; the number of samples must not be negative")
        _, potentials = self._apply(X)
        drawn = queries.sample(potentials, n, self.random_state, self._jobs())
        return [self.classes_[paths].tolist() for paths in drawn]

    def log_partition(self, X: Any) -> Floats:
        """log Z of each sequence [N]."""
        return queries.log_partition(self._apply(X)[1], self._jobs())

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """log p(y | x) of each sequence [N]; -inf is not possible: unknown labels are refused."""
        encoded, potentials = self._apply(X)
        gold = design_.encode_labels(labels_of(X, y), self.classes_.tolist(), encoded.offsets)
        score = queries.score(potentials, gold, self._jobs())
        shares: Floats = queries.log_share(score, queries.log_partition(potentials, self._jobs()))
        return shares

    def entropy(self, X: Any) -> Floats:
        """Entropy of p(y | x) of each sequence [N], in nats."""
        return queries.entropy(self._apply(X)[1], self._jobs())

    def span_probability(self, X: Any, spans: Sequence[Iterable[Any]]) -> list[list[float]]:
        """Probability of each span; ``spans`` has a list of (start, end, label) per sequence.

        If the labels form a scheme (IOB, IOBES …) that is the probability that the span is an entity of the
        labelling, not longer and not shorter; else that all its positions have the label.
        """
        encoded, potentials = self._apply(X)
        return span_probabilities(potentials, encoded.offsets, self.classes_.tolist(), spans, self._jobs())

    def predict_text(
        self, strings: Iterable[str], *, to_sequence: Callable[[list[str]], Any] | None = None
    ) -> list[list[TextSpan]]:
        """Spans in raw strings: per string a list of ``TextSpan(start, end, label, text, probability)``.

        Positions count characters. The ``tokenizer`` cuts the strings into words; ``to_sequence`` turns
        the words of one string into a sequence as X would hold it, where words alone are not enough.
        """
        from fieldcraft.models.text import predict_text

        self._require_fitted()
        return predict_text(self, strings, to_sequence)

    def score(self, X: Any, y: Any = None) -> float:
        """Token accuracy."""
        gold = labels_of(X, y)
        return float(resolve_metric("token_accuracy", gold)(gold, list(self.predict(X))))

    # -- reasons ----------------------------------------------------------------------------------

    def inspect(
        self,
        *,
        top: int = 20,
        label: str | None = None,
        attribute: str | None = None,
        template: str | None = None,
    ) -> Inspection:
        """What the model learnt: transitions, strongest features, templates.

        Parameters
        ----------
        top : how many features to list, for and against
        label : only features with this label
        attribute : only attributes of this name; with ``*`` and ``?`` for other characters; or a part of it
        template : only features of this template, or of those that match
        """
        from fieldcraft.inspection.overview import inspect_model

        self._require_fitted()
        return inspect_model(self, top=top, label=label, attribute=attribute, template=template)

    def explain(
        self, sequence: Any, *, token: int | None = None, label: str | None = None, top: int = 10
    ) -> Explanation:
        """Why one sequence is labelled so: each feature's vote between a token's label and the runner-up.

        Parameters
        ----------
        sequence : one element of X, or a Sequence of a corpus
        token : position of the token to explain; None for all
        label : contrast with this label instead of the runner-up
        top : how many votes to list
        """
        from fieldcraft.inspection.explanation import Prediction, explain_sequence
        from fieldcraft.inspection.observations import only

        self._require_fitted()
        X = sequences_of(only(sequence), self.encoder_)
        encoded, potentials = self._apply(X)
        marginals = queries.node_marginals(potentials, self._jobs())
        prediction = Prediction(encoded, self._states(encoded, potentials), marginals)
        return explain_sequence(self, X, prediction, token=token, label=label, top=top)

    # -- persistence ------------------------------------------------------------------------------

    def save(self, path: Any, *, compact: bool = False, float32: bool = False, zeros: bool = False) -> None:
        """Write the model to one file, whole or not at all.

        Parameters
        ----------
        compact : leave out the features' counts, which only inspection needs
        float32 : store the weights in half the room, rounded
        zeros : store also the features whose weight is exactly 0, which change no answer
        """
        from fieldcraft.models.persistence import save

        save(self, path, compact=compact, float32=float32, zeros=zeros)

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

    def _apply(self, X: Any) -> tuple[Encoded, Any]:
        self._require_fitted()
        encoded = encode(X, self.encoder_, grow=False, n_threads=self._jobs())
        return encoded, self._parameters.scorer.apply(encoded)

    def _states(self, encoded: Encoded, potentials: Any) -> NDArray[np.int32]:
        if self.voters_ is not None and self.decoding == "viterbi":
            return self.voters_.states(encoded, self._jobs())
        return queries.resolve_decoding(self.decoding)(potentials, self._jobs())

    def _lists(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.object_]:
        labels = self.classes_[states].tolist()
        out = np.empty(len(offsets) - 1, object)
        bounds = offsets.tolist()
        out[:] = [labels[a:b] for a, b in zip(bounds, bounds[1:])] or None
        return out


def _ranges(encoded: Encoded) -> Iterable[tuple[int, int]]:
    bounds = encoded.offsets.tolist()
    return zip(bounds, bounds[1:])
