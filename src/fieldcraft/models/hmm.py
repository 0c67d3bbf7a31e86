"""HMM: the hidden Markov model, as a chain whose weights are logarithms of probabilities.

    p(x, y) = start[y_0] emission[y_0, x_0] product over t of transition[y_{t-1}, y_t] emission[y_t, x_t]

A chain with log start on the first token, log transition on label pairs and log emission on symbols has the
posterior of the HMM, and its log Z is log p(x). Unknown symbols share the smoothing mass of a state: a bias
has log p(unknown | y), symbols have their log emission less it. Predictions are those of every chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus
from fieldcraft.counts import whole_number
from fieldcraft.design import Encoder, make_encoder, windows_of
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import PartialLabels, declared_labels, encode_partial
from fieldcraft.models.hmm_counts import Counts, HMMProbabilities, Symbols, check_probabilities
from fieldcraft.models.inputs import labels_of
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

if TYPE_CHECKING:
    from fieldcraft.models.chain import ChainCRF

Floats = NDArray[np.float64]
OBJECTIVES = ("joint", "conditional")


class HMM(Model):
    """Hidden Markov model of one column.

    Parameters
    ----------
    column : the column with the symbols; sequences may also be lists of symbols
    smoothing : what is added to every count; unknown symbols share one such part
    n_states : number of states where ``fit`` gets no labels; their names are "0", "1" …
    objective : "joint" (counts; Baum-Welch where labels are missing), or "conditional" (the same features,
        trained as a chain by conditional likelihood)
    max_iterations : of Baum-Welch
    tolerance : Baum-Welch stops when the log-likelihood gains less than this fraction of itself
    labels : names of the labels, in order; None for those that occur, sorted
    n_jobs, random_state : threads; seed of the initial states of Baum-Welch and of sample()

    Examples
    --------
    >>> hmm = HMM().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> hmm.predict([["the", "cat"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        column: str = "word",
        smoothing: float = 1.0,
        n_states: int | None = None,
        objective: str = "joint",
        *,
        max_iterations: int = 200,
        tolerance: float = 1e-8,
        labels: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.column, self.smoothing, self.n_states = column, smoothing, n_states
        self.objective, self.max_iterations, self.tolerance = objective, max_iterations, tolerance
        self.labels, self.n_jobs, self.random_state = labels, n_jobs, random_state

    probabilities_: HMMProbabilities
    log_likelihoods_: list[float]

    def fit(self, X: Any, y: Any = None) -> HMM:
        """Learn from sequences with labels, with partial labels (None, sets), or without any (Baum-Welch).

        ``log_likelihoods_`` are those of the iterations of Baum-Welch, with the logarithm of the smoothing
        prior; each is at least the one before it.
        """
        self._check()
        X = self._columns(X)
        if self.objective == "conditional":
            crf = self._chain().fit(X, y)
            self._settle(crf._parameters, crf.classes_.tolist())
            return self
        encoder = make_encoder(self._templates())
        encoded = encoder.encode(X, grow=True)
        if not encoded.offsets[-1]:
            raise InputError("there is nothing to learn from: X has no tokens")
        if y is None and not (isinstance(X, Corpus) and any(row for row in X.labels if row)):
            if self.n_states is None:
                raise InputError("there are no labels; give y, or n_states for Baum-Welch without any")
            names = [str(s) for s in range(whole_number(self.n_states, "n_states", 1))]
            allowed = np.ones((int(encoded.offsets[-1]), len(names)), bool)
        else:
            given = labels_of(X, y, partial=True)
            names = declared_labels(self.labels, given)
            partial: PartialLabels = encode_partial(given, names, encoded.offsets)
            allowed = partial.allowed(len(names)).astype(bool)
        symbols = Symbols.of(encoder, encoded)
        counts = Counts(symbols, len(names), float(self.smoothing))
        if np.all(allowed.sum(axis=1) == 1):
            found, self.log_likelihoods_ = counts.counted(allowed), []
        else:
            limits = whole_number(self.max_iterations, "max_iterations", 1), float(self.tolerance)
            found, self.log_likelihoods_ = counts.baum_welch(allowed, self.random_state, *limits)
        self._take_probabilities(encoder, names, found)
        return self

    @classmethod
    def from_probabilities(
        cls, start: Any, transition: Any, emission: Any, labels: Sequence[str], symbols: Sequence[str]
    ) -> HMM:
        """The HMM with these probabilities: start [S], transition [S, S], emission [S, V].

        >>> hmm = HMM.from_probabilities([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], ["A", "B"], ["a", "b"])
        >>> hmm.predict([["a", "b", "a"]]).tolist()
        [['A', 'B', 'A']]
        """
        hmm = cls(smoothing=0.0, labels=list(labels))
        encoder = make_encoder(hmm._templates())
        encoder.encode([{hmm.column: list(symbols)}], grow=True)
        first, steps, shown = (np.asarray(part, np.float64) for part in (start, transition, emission))
        S, V = len(labels), encoder.n_attributes - 2  # the others are `first` and `bias`
        for name, part, shape in (
            ("start", first, (S,)),
            ("transition", steps, (S, S)),
            ("emission", shown, (S, V)),
        ):
            check_probabilities(name, part, shape)
        found = HMMProbabilities(first, steps, shown, np.zeros(len(labels)))
        hmm._take_probabilities(encoder, list(labels), found)
        return hmm

    def log_likelihood(self, X: Any) -> Floats:
        """log p(x) of each sequence [N], of an HMM that was trained with objective="joint"."""
        if self.temperature_ != 1.0:
            raise InputError("a calibrated HMM has no p(x), only p(y | x); ask the model that was calibrated")
        return self.log_partition(X)

    def to_crf(self) -> ChainCRF:
        """The ChainCRF with the same posterior; impossible symbols and transitions have the weight -inf."""
        self._require_fitted()
        crf = self._chain()
        crf._settle(self._parameters, self.classes_.tolist())
        return crf

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """A chain over the labels."""
        return LinearChain(StateSpace.labels(labels))

    def _check(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(f"objective={self.objective!r}; choose one of {', '.join(OBJECTIVES)}")
        if not float(self.smoothing) >= 0.0:
            raise InputError(f"smoothing={self.smoothing!r}; it must not be negative")

    def _templates(self) -> str:
        return f"{self.column}\nfirst\nbias\nedge"

    def _chain(self) -> ChainCRF:
        from fieldcraft.models.chain import ChainCRF

        return ChainCRF(
            self._templates(), labels=self.labels, n_jobs=self.n_jobs, random_state=self.random_state
        )

    def _columns(self, X: Any) -> Any:
        """Sequences as columns; lists of symbols become one."""
        if isinstance(X, Corpus) or not isinstance(X, (list, tuple)):
            return X
        plain = all(isinstance(x, (list, tuple)) and all(isinstance(s, str) for s in x) for x in X)
        return [{self.column: list(x)} for x in X] if plain else X

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        return super()._scored(self._columns(X), *arguments, **options)

    def _take_probabilities(self, encoder: Encoder, names: list[str], found: HMMProbabilities) -> None:
        """Become fitted: one weight for every state and symbol, start, bias and pair of states."""
        self.probabilities_ = found
        S, template = len(names), encoder.attribute_template
        kinds = [t.name for t in encoder.templates]
        with np.errstate(divide="ignore"):
            start, transition, emission, unknown = (np.log(part) for part in found)
        bias = np.where(np.isfinite(unknown), unknown, 0.0)
        table = np.zeros((encoder.n_attributes, S))  # [A, S]
        table[template == kinds.index(self.column)] = (emission - bias[:, None]).T
        table[template == kinds.index("first")] = start
        table[template == kinds.index("bias")] = bias
        pairs = np.stack(np.divmod(np.arange(S * S), S))
        nodes = np.stack(np.divmod(np.arange(table.size), S))
        attribute = np.concatenate([np.full(S * S, -1), nodes[0]]).astype(np.int32)
        previous = np.concatenate([pairs[0], np.full(table.size, -1)]).astype(np.int32)
        label = np.concatenate([pairs[1], nodes[1]]).astype(np.int32)
        of = np.append(template, -1)[attribute].astype(np.int32)
        blank = np.zeros(len(label), np.int32)
        index = FeatureIndex(
            attribute,
            np.stack([previous, label]).T,
            of,
            blank,
            blank,
            windows_of(encoder),
            encoder.n_attributes,
        )
        weights = np.concatenate([transition.ravel(), table.ravel()])
        self._settle(Parameters.of(encoder, index, weights, self.structure_for(names)), names)
