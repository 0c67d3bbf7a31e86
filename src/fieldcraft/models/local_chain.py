"""MEMM and CMM: chains of local models, each normalised by itself.

    p(y | x) = product over t of p(y_t | y_{t-1}, x, t)

In a MEMM every previous label has a model of its own, in a CMM all share one, which also looks at the
previous label. Both are trained token by token with the gold label before it, as logistic regressions. Their
predictions are those of a chain whose potentials are the local log-probabilities. Because each step is
normalised, a label with few successors passes its probability on whatever is observed (label bias), which
chains do not.

Weights: those of (attribute, label) at first tokens, and elsewhere of (attribute, previous, label) in a MEMM,
of (attribute, label) and (previous, label) in a CMM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder, build_design, make_encoder, windows_of
from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import declared_labels, encode_labels
from fieldcraft.models.blocks import BLOCK_TOKENS
from fieldcraft.models.inputs import encode, labels_of
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Settings, SharedDesign
from fieldcraft.potentials import ChainWeights, Parts
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
CELLS = 2_000_000  # local log-probabilities of a block: 16 MB
Self = TypeVar("Self", bound="LocalChain")


class LocalWeights:
    """Scores of a chain, normalised at each step over the current label.

    Every token has Y * Y of them, so that fewer tokens are scored at a time where there are many labels.
    """

    def __init__(self, weights: Any, n_labels: int, temperature: float = 1.0) -> None:
        self._weights = weights
        self._temperature = temperature
        self.block_tokens = max(1, min(BLOCK_TOKENS, CELLS // n_labels**2))

    def potentials(self, encoded: Encoded) -> Parts:
        """Local log-probabilities: of first tokens as nodes, of the others as edges.

        A temperature divides them, not the scores, so that the best labels stay the same; the steps of a
        calibrated model are no longer normalised.
        """
        node, edge = self._weights.arrays(encoded)
        parts = normalised(node, edge, encoded.offsets)
        if self._temperature == 1.0:
            return parts
        return Parts({k: v / self._temperature for k, v in parts.arrays.items()}, parts.offsets)


def normalised(node: Floats, edge: Floats, offsets: NDArray[np.int64]) -> Parts:
    """Local log-probabilities from scores node [tokens, Y] and edge [Y * Y] or [tokens, Y * Y].

    >>> parts = normalised(np.zeros((2, 2)), np.zeros(4), np.array([0, 2]))
    >>> np.exp(parts["edge"][1]).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    tokens, Y = node.shape
    first = np.zeros(tokens, bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    pairs = np.broadcast_to(edge, (tokens, Y * Y)).reshape(tokens, Y, Y) + node[:, None, :]
    pairs -= _log_sums(pairs)[..., None]
    pairs[first] = 0.0
    alone = np.where(first[:, None], node - _log_sums(node)[:, None], 0.0)
    return LinearChain.potentials(alone, pairs.reshape(tokens, Y * Y), offsets)


def _log_sums(scores: Floats) -> Floats:
    top = scores.max(axis=-1, keepdims=True)
    total: Floats = np.log(np.exp(scores - top).sum(axis=-1)) + top[..., 0]
    return total


class LocalChain(Model):
    """What MEMM and CMM share.

    Parameters
    ----------
    templates : as for ChainCRF; lines that look at label pairs (``edge``) are not needed
    prior : penalty on the weights, as for ChainCRF
    optimiser : "auto", "lbfgs" … as for ChainCRF
    labels : names of the labels, in order; None for those that occur, sorted
    n_jobs, random_state : as for ChainCRF
    """

    shared: ClassVar[bool]  # one model for all previous labels

    def __init__(
        self,
        templates: Any = None,
        *,
        prior: Any = "auto",
        optimiser: Any = "auto",
        labels: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.templates, self.prior, self.optimiser = templates, prior, optimiser
        self.labels, self.n_jobs, self.random_state = labels, n_jobs, random_state

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Train the local models on sequences with their labels."""
        given = labels_of(X, y)
        names = declared_labels(self.labels, given)
        encoder = make_encoder(self.templates)
        encoded = encode(X, encoder, grow=True)
        on_edge = np.array([template.part == "edge" for template in encoder.templates], bool)
        if on_edge[encoder.attribute_template].any():
            raise InputError("MEMM and CMM look at the previous label by themselves; leave out `edge:` lines")
        gold = encode_labels(given, names, encoded.offsets)
        before = previous_of(gold, encoded.offsets)  # -1 at first tokens
        rows = self._rows(encoded, before, encoder.n_attributes)
        inner = make_encoder(None)  # numbers stand for the attributes of the local model
        inner.encode([[[str(i) for i in range(self._n_inner(encoder.n_attributes, len(names)))]]], grow=True)
        settings = Settings(prior=self.prior, optimiser=self.optimiser, labels=names, n_jobs=self.n_jobs)
        training = Training(settings, self.structure_for)
        design = build_design(inner, rows, gold, len(names), n_jobs=training.n_jobs)
        data = SharedDesign(inner, design, [[names[y]] for y in gold.tolist()], {})
        trained = training.run(None, None, control={}, shared=data)
        self._settle_local(encoder, names, trained.parameters)
        self.objective_value_ = trained.outcome.objective
        return self

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """A chain over the labels."""
        return LinearChain(StateSpace.labels(labels))

    def _rows(self, encoded: Encoded, before: NDArray[np.int64], A: int) -> Encoded:
        """Every token as a sequence of its own, with the attributes of the local model."""
        lengths = np.diff(encoded.token_ptr)
        owner = np.repeat(before, lengths)
        tokens = np.arange(len(before) + 1, dtype=np.int64)
        if not self.shared:
            attributes = encoded.attributes + (owner + 1) * A
            return Encoded(tokens, encoded.token_ptr, attributes.astype(np.int32), encoded.values)
        later = (before >= 0).astype(np.int64)
        ptr = np.concatenate([[0], np.cumsum(lengths + later)]).astype(np.int64)
        own = np.ones(int(ptr[-1]), bool)
        own[ptr[1:][before >= 0] - 1] = False
        attributes = np.empty(len(own), np.int32)
        attributes[own], attributes[~own] = encoded.attributes, A + before[before >= 0]
        values = None
        if encoded.values is not None:
            values = np.ones(len(own))
            values[own] = encoded.values
        return Encoded(tokens, ptr, attributes, values)

    def _n_inner(self, A: int, Y: int) -> int:
        return A + Y if self.shared else A * (Y + 1)

    def _settle_local(self, encoder: Encoder, names: list[str], inner: Parameters) -> None:
        """The features of the local models as those of a chain."""
        A = encoder.n_attributes
        number, label = inner.index.attribute.astype(np.int64), inner.index.label
        if self.shared:
            previous, attribute = np.where(number >= A, number - A, -1), np.where(number >= A, -1, number)
        else:
            previous, attribute = number // A - 1, number % A
        template = np.append(encoder.attribute_template, -1)[attribute].astype(np.int32)
        labels = np.stack([previous, label]).astype(np.int32).T
        columns = (attribute.astype(np.int32), labels, template, inner.index.count, inner.index.family)
        index = FeatureIndex(*columns, windows_of(encoder), A)
        self._settle(Parameters.of(encoder, index, inner.weights, self.structure_for(names)), names)

    def _predictor(self) -> Any:
        predictor = super()._predictor()
        index, weights = self._parameters.index, self._parameters.trained_weights
        chain = ChainWeights.of(index, weights, len(self.classes_))
        if not self.shared:
            chain = _first_apart(index, weights, len(self.classes_))
        temperature, n = self._parameters.calibration.temperature, len(self.classes_)
        ranker = None if temperature == 1.0 else LocalWeights(chain, n)
        return predictor._replace(scorer=LocalWeights(chain, n, temperature), ranker=ranker)


def _first_apart(index: FeatureIndex, weights: Floats, n: int) -> Any:
    """The scores of a MEMM: nodes at first tokens, pairs elsewhere."""
    chain = ChainWeights.of(index, weights, n)

    class Apart:
        def arrays(self, encoded: Encoded) -> tuple[Floats, Floats]:
            node, edge = chain.arrays(encoded)
            first = np.zeros(len(node), bool)
            first[encoded.offsets[:-1][np.diff(encoded.offsets) > 0]] = True
            return np.where(first[:, None], node, 0.0), edge

    return Apart()


def previous_of(gold: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """[tokens] the label before each token, -1 at the first of a sequence."""
    before = np.concatenate([[-1], gold[:-1]]).astype(np.int64)[: len(gold)]
    before[offsets[:-1][np.diff(offsets) > 0]] = -1
    return before


class MEMM(LocalChain):
    """Maximum-entropy Markov model: a logistic regression for every previous label.

    Parameters
    ----------
    templates, prior, optimiser, labels, n_jobs, random_state : see ChainCRF

    Examples
    --------
    >>> memm = MEMM().fit([[["w=the"], ["w=dog"]]], [["DET", "NOUN"]])
    >>> memm.predict([[["w=the"], ["w=dog"]]]).tolist()
    [['DET', 'NOUN']]
    """

    shared = False


class CMM(LocalChain):
    """Conditional Markov model: one logistic regression that looks at the previous label.

    Parameters
    ----------
    templates, prior, optimiser, labels, n_jobs, random_state : see ChainCRF

    Examples
    --------
    >>> cmm = CMM().fit([[["w=the"], ["w=dog"]]], [["DET", "NOUN"]])
    >>> cmm.predict([[["w=the"], ["w=dog"]]]).tolist()
    [['DET', 'NOUN']]
    """

    shared = True
