"""CodedCRF: many labels through an error-correcting code, a binary chain for each of its bits.

    p(y | x) proportional to the product over bits i of p_i(b_i(y) | x),   b_i(y): bit i of the labels' words

Training costs the same per bit whatever the number of labels, where a chain costs its square. The product is
a chain over the labels: its node scores are sums of those of the bits, and so are its label pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.numbered import spelled
from fieldcraft.labels import declared_labels, encode_labels
from fieldcraft.models.blocks import BLOCK_TOKENS, Predictor, cuts, part_of
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.inputs import EncodedSequences, encode, labels_of
from fieldcraft.models.parameters import Parameters, Scoring
from fieldcraft.models.scored import Scored
from fieldcraft.models.sequence_model import SequenceModel
from fieldcraft.models.training_settings import Settings, SharedDesign, Trained
from fieldcraft.pools.codes import make_code, needs_confusion
from fieldcraft.potentials import Parts
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from fieldcraft.threads import resolve_jobs

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
T = TypeVar("T")
BITS = ("0", "1")
DECODINGS = ("product", "hamming", "marginals")
QUICK = 10  # passes of the perceptron whose confusions make a data-driven code


@dataclass(repr=False, eq=False)
class CodedCRF(SequenceModel):
    """Chains for many labels: an error-correcting code, with a binary chain for each bit.

    Parameters
    ----------
    code : "random"; "one_against_rest"; "exhaustive" (at most 8 labels); "data", by the confusions of a quick
        model; an array [labels, bits]; or a dict label -> word ("0110")
    bits : how many, for "random" and "data"; "auto" for "data" chooses by a bound on the errors
    decoding : "product" (the best labelling of the product of the bits' distributions), "hamming" (the word
        nearest to the bits' best labellings) or "marginals" (the word nearest to their marginals, in the L1
        distance). All answers need "product"; the others have ``predict`` and ``score`` only
    others : see ChainCRF; bits have weights for all attributes with both values (features="all")

    Examples
    --------
    >>> X = [[["w=the"], ["w=dog"], ["w=runs"]], [["w=a"], ["w=cat"], ["w=sleeps"]]]
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]]
    >>> crf = CodedCRF(code="exhaustive").fit(X, y)
    >>> crf.code_.tolist(), crf.predict(X[:1]).tolist()
    ([[1, 0, 1], [0, 1, 1], [0, 0, 0]], [['DET', 'NOUN', 'VERB']])
    """

    code: Any = "random"
    bits: Any = 60
    decoding: str = "product"

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        max_seconds: float | None = None,
        callbacks: Iterable[Callable[..., Any]] = (),
    ) -> CodedCRF:
        """Train a binary chain for each bit.

        Parameters
        ----------
        X, y : sequences and label lists; or a labelled Corpus and no y
        sample_weight : [N] weight of each sequence
        max_seconds : time limit of each bit
        callbacks : called with the record of each iteration; with them the bits follow one another
        """
        if self.decoding not in DECODINGS:
            raise InputError(f"decoding={self.decoding!r}; choose one of {', '.join(DECODINGS)}")
        names = declared_labels(self.labels, labels := labels_of(X, y))
        n_jobs = resolve_jobs(self.n_jobs)
        shared = self._member()._training().share(X, [["0"] * len(row) for row in labels])
        gold = encode_labels(labels, names, shared.design.encoded.offsets)
        confusion = self._confusion(shared, labels, names, gold) if needs_confusion(self.code) else None
        code = make_code(self.code, names, self.bits, self.random_state, confusion)
        control = {"max_seconds": max_seconds, "callbacks": tuple(callbacks)}
        at_once = 1 if callbacks else min(n_jobs, code.shape[1])

        def train(i: int) -> Trained:
            own = replace(shared.design, gold=np.ascontiguousarray(code[gold, i], np.int32))
            member = self._member(n_jobs=max(n_jobs // at_once, 1))
            of = shared._replace(design=own)
            return member._training().run(X, None, shared=of, sample_weight=sample_weight, control=control)

        with ThreadPoolExecutor(at_once) as pool:
            trained = list(pool.map(train, range(code.shape[1])))
        return self._become(trained, shared, names, code)

    def _member(self, **settings: Any) -> ChainCRF:
        """The chain of a bit, not trained."""
        own = {
            **vars(Settings.of(self)),
            "labels": BITS,
            "features": "all",
            "decoding": "viterbi",
            **settings,
        }
        own.pop("_", None)
        return ChainCRF(**own)

    def _confusion(self, shared: SharedDesign, labels: list[Any], names: list[str], gold: Ints) -> Floats:
        """[Y, Y] what a perceptron says for each label of the training data."""
        from fieldcraft.optimisers import AveragedPerceptron

        X = EncodedSequences(shared.encoder, shared.design.encoded)
        optimiser = AveragedPerceptron(max_iterations=QUICK, seed=self.random_state)
        quick = ChainCRF(optimiser=optimiser, labels=names, n_jobs=self.n_jobs).fit(X, labels)
        said = quick._scored(X).label_numbers()
        table = np.zeros((len(names), len(names)))
        np.add.at(table, (gold, said), 1.0)
        return table

    def _become(
        self, trained: list[Trained], shared: SharedDesign, names: list[str], code: NDArray[np.uint8]
    ) -> CodedCRF:
        first = trained[0]
        weights = np.stack([one.outcome.weights for one in trained])
        used = np.abs(weights).sum(axis=0)  # 0 where no bit uses the feature
        parameters = Parameters.of(shared.encoder, shared.design.index, used, self.structure_for(names))
        self._bits = _Bits(parameters, weights, code)
        self.source_, self.provenance_ = None, first.provenance
        self.optimiser_, self.prior_, self.objective_ = first.optimiser, first.prior, first.objective
        self.training_log_ = [record for one in trained for record in one.outcome.records]
        self.objective_value_ = float(sum(one.outcome.objective for one in trained))
        self.stop_reason_, self.converged_ = (
            first.outcome.reason,
            all(one.outcome.converged for one in trained),
        )
        self.n_iter_ = max(len(one.outcome.records) for one in trained)
        self._settle(parameters, names)
        return self

    @property
    def code_(self) -> NDArray[np.uint8]:
        """[Y, bits] the word of each label."""
        self._require_fitted()
        return self._bits.code

    @property
    def bit_weights_(self) -> Floats:
        """[bits, F] the weights of each bit's chain."""
        self._require_fitted()
        return self._bits.weights

    @property
    def weights_(self) -> Floats:
        """Refused: each bit has weights of its own, ``bit_weights_``."""
        raise self._refusal("weights_", "see bit_weights_")

    def _is_one_model(self) -> bool:
        return False  # so that no pool takes it for a chain

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """The chain of a bit; that of the product is over ``labels``."""
        del labels
        return LinearChain(StateSpace.labels(BITS))

    # -- predictions --------------------------------------------------------------------------------

    def predict(self, X: Any, *, constraints: Any = None) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists; constraints need decoding="product"."""
        self._require_fitted()
        if self.decoding == "product":
            return super().predict(X, constraints=constraints)
        if constraints is not None:
            raise self._refusal("constraints", "use decoding='product'")
        n_jobs = resolve_jobs(self.n_jobs)
        encoded = encode(X, self._parameters.encoder, grow=False, n_threads=n_jobs)
        numbers = self._bits.nearest(encoded, self.decoding, n_jobs)
        return spelled(self.classes_.tolist(), numbers, encoded.offsets)

    def score(self, X: Any, y: Any = None) -> float:
        """The score by ``metric``."""
        from fieldcraft.evaluation.metrics import resolve_metric

        gold = labels_of(X, y)
        return float(resolve_metric(self.metric, gold)(gold, list(self.predict(X))))

    def partial_fit(self, *args: Any, **options: Any) -> CodedCRF:
        """Not for codes: raises an InputError."""
        del args, options
        raise self._refusal("partial_fit", "fit again")

    def inspect(self, **options: Any) -> Any:
        """Not for codes: raises an InputError."""
        del options
        raise self._refusal("inspect", "see code_ and bit_weights_")

    def explain(self, sequence: Any, **options: Any) -> Any:
        """Not for codes: raises an InputError."""
        del sequence, options
        raise self._refusal("explain", "see code_ and bit_weights_")

    def _refusal(self, what: str, remedy: str) -> InputError:
        return InputError(f"{what}: a CodedCRF is many models, one for each bit; {remedy}")

    def _ask(self, X: Any, question: Callable[[Scored], T]) -> T:
        self._check_product()
        return super()._ask(X, question)

    def scored(self, X: Any) -> Scored:
        """Encode and score X once; needs decoding="product"."""
        self._check_product()
        return super().scored(X)

    def _check_product(self) -> None:
        self._require_fitted()
        if self.decoding != "product":
            raise InputError(
                f"decoding={self.decoding!r} yields labels alone (predict, score); set decoding='product' "
                "for everything else"
            )

    def _predictor(self) -> Predictor:
        self._require_fitted()
        chain = LinearChain(StateSpace.labels(self.classes_.tolist()), n_jobs=resolve_jobs(self.n_jobs))
        return Predictor(self.classes_, chain, self._bits, "viterbi", None, self.random_state, None)

    # -- files --------------------------------------------------------------------------------------

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        weights = self._bits.weights
        if len(parameters.weights) < weights.shape[1]:
            weights = weights[:, self._parameters.weights != 0]
        return {}, {"members.weights": weights, "code": self._bits.code}

    def _take(self, parameters: Parameters, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        weights, code = arrays["members.weights"], np.array(arrays["code"])
        n, bits = len(header["labels"]), len(weights)
        if weights.ndim != 2 or weights.shape[1] != len(parameters.placed) or weights.dtype.kind != "f":
            raise ValueError(f"the weights of the bits have the shape {weights.shape}")
        if code.shape != (n, bits) or code.dtype != np.uint8 or code.max(initial=0) > 1:
            raise ValueError(f"the code has the shape {code.shape}")
        self._bits = _Bits(parameters, weights.astype(np.float64, copy=False), code)


class _Bits:
    """The binary chains of a code: a scorer of chains over the labels.

    Parameters
    ----------
    parameters : encoder, features and structure of every bit
    weights : [bits, F] in the order of the feature index
    code : [Y, bits]
    """

    def __init__(self, parameters: Parameters, weights: Floats, code: NDArray[np.uint8]) -> None:
        self.parameters, self.weights, self.code = parameters, weights, code

    @cached_property
    def scorers(self) -> list[Any]:
        scoring = Scoring.of(self.parameters.index, self.parameters.structure)
        return [scoring.scorer_of(row) for row in self.weights]

    def potentials(self, encoded: Encoded) -> Parts:
        """Of the product: node [tokens, Y] and edge [Y * Y], sums over the bits."""
        ones = self.code.astype(np.float64)  # [Y, bits]
        tokens, bits = int(encoded.offsets[-1]), len(self.scorers)
        difference, shared, pairs = np.empty((tokens, bits)), np.zeros(tokens), None
        for i, scorer in enumerate(self.scorers):
            node, edge = scorer.arrays(encoded)
            difference[:, i] = node[:, 1] - node[:, 0]
            shared += node[:, 0]
            rows = edge.reshape(*edge.shape[:-1], 2, 2)[..., self.code[:, i][:, None], self.code[:, i]]
            pairs = rows if pairs is None else pairs + rows
        assert pairs is not None
        return LinearChain.potentials(
            difference @ ones.T + shared[:, None],
            pairs.reshape(*pairs.shape[:-2], -1),
            encoded.offsets,
        )

    def nearest(self, encoded: Encoded, decoding: str, n_jobs: int) -> Ints:
        """[tokens] the label whose word is nearest to what the bits say; ties go to the lower label."""
        chain = LinearChain(StateSpace.labels(BITS), n_jobs=n_jobs)
        ones = self.code.astype(np.float64)
        found = []
        bounds = cuts(encoded.offsets, BLOCK_TOKENS)
        for a, b in zip(bounds, bounds[1:]):
            part = part_of(encoded, a, b)
            said = np.stack([_said(chain, s.potentials(part), decoding) for s in self.scorers], axis=1)
            distance = said @ (1 - 2 * ones).T + ones.sum(axis=1)  # [tokens, Y] sum of |said - bit|
            found.append(np.round(distance, 9).argmin(axis=1).astype(np.int32))
        return np.concatenate(found)


def _said(chain: LinearChain, potentials: Any, decoding: str) -> Floats:
    """[tokens] the bit of the best labelling, or the probability that it is 1."""
    if decoding == "hamming":
        return chain.argmax(potentials)[0].astype(np.float64)
    return chain.label_marginals(potentials)[:, 1]
