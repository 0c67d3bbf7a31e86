"""CRF: sklearn-crfsuite's estimator over fieldcraft's chain.

Same parameters, methods and fitted attributes. The model is in memory and is pickled with the
estimator; ``model_filename`` names a file in fieldcraft's format, written by ``fit`` and read if not fitted.

``predict`` labels all sequences in one batch. Only where a subclass overrides ``predict_single`` does it call
that method for each of them; ``predict_single`` never calls ``predict``. Afterwards the current sequence of
``tagger_`` is the last one. Marginals work alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.compat.algorithms import ALGORITHMS, resolve_algorithm
from fieldcraft.compat.arguments import is_only_for_chains, one_dimensional, pairs_of
from fieldcraft.compat.metrics import flat_accuracy_score
from fieldcraft.compat.modelfile import ModelFile
from fieldcraft.compat.pycrfsuite import BaseTrainer, ParsedDump, Tagger, TrainingLog
from fieldcraft.compat.pycrfsuite.items import list_of_items, with_plain_items
from fieldcraft.compat.scikit_learn import BaseEstimator
from fieldcraft.compat.trainer import LinePerIterationTrainer
from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.estimator import Estimator

# our name -> CRFsuite's, where they differ
RENAMED = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
NOT_FOR_TRAINING = {"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls"}


@dataclass(repr=False, eq=False)
class CRF(Estimator, BaseEstimator):
    """Linear-chain CRF with the interface of ``sklearn_crfsuite.CRF``; None stands for CRFsuite's default.

    Parameters
    ----------
    algorithm : "lbfgs", "l2sgd", "ap", "pa" or "arow"
    min_freq : features seen less often get no weight (0)
    all_possible_states, all_possible_transitions : weights also for features not seen in training (False)
    c1, c2 : strengths of the penalties on absolute (0) and squared (1) weights
    max_iterations : no limit
    num_memories, epsilon, period, delta, max_linesearch : settings of L-BFGS (6, 1e-5, 10, 1e-5, 20)
    linesearch : checked, without effect
    calibration_eta, calibration_rate, calibration_samples : of "l2sgd"
    calibration_candidates, calibration_max_trials : of "l2sgd"
    pa_type, c, error_sensitive, averaging : of "pa"
    variance, gamma : of "arow"; parameters of other algorithms raise an InputError
    verbose : print a line per iteration
    model_filename : file that ``fit`` writes, and that is read if the estimator is not fitted
    keep_tempfiles : do not remove the file that ``modelfile.name`` makes without ``model_filename``
    trainer_cls : subclass of ``fieldcraft.compat.pycrfsuite.Trainer`` with other hooks

    Examples
    --------
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "cat"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = CRF(c1=0.1, c2=0.01, max_iterations=50).fit(X, y)
    >>> crf.predict_single([{"w": "the"}, {"w": "cat"}])
    ['DET', 'NOUN']
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: float | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | None = None
    keep_tempfiles: bool | None = False
    trainer_cls: Callable[..., BaseTrainer] | None = None
    training_log_: TrainingLog | None = field(default=None, init=False)
    _tagger: Tagger | None = field(default=None, init=False)
    _modelfile: ModelFile | None = field(default=None, init=False)

    # -- training ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sequences of items with their labels; held-out ones are scored after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise InputError("one of X_dev and y_dev is missing; pass both or none")
        trainer = self._trainer()
        for items, labels in pairs_of(X, y):
            trainer.append(items, labels)
        if X_dev is not None:
            for items, labels in pairs_of(X_dev, y_dev):
                trainer.append(items, labels, 1)
        trainer.train(self.model_filename or "", holdout=-1 if X_dev is None else 1)
        self.training_log_, self._tagger = getattr(trainer, "logparser", None), Tagger(trainer.crf_)
        self._modelfile = None
        return self

    def _trainer(self) -> BaseTrainer:
        algorithm = resolve_algorithm(self.algorithm or "lbfgs")
        names = [each.name for each in fields(CRF) if each.init and each.name not in NOT_FOR_TRAINING]
        chosen = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        known = ALGORITHMS[algorithm].parameters
        foreign = [name for name in chosen if RENAMED.get(name, name) not in known]
        if foreign:
            raise InputError(f"{foreign[0]} is no parameter of algorithm={algorithm!r}; leave it out")
        params = {RENAMED.get(name, name): value for name, value in chosen.items()}
        make = self.trainer_cls or LinePerIterationTrainer
        is_trainer = not inspect.isclass(make) or issubclass(make, BaseTrainer)
        trainer = make(algorithm=algorithm, params=params, verbose=self.verbose) if is_trainer else None
        if not isinstance(trainer, BaseTrainer):
            raise InputError(
                f"trainer_cls is {make!r}; pass a subclass of fieldcraft.compat.pycrfsuite.Trainer"
            )
        return trainer

    # -- predictions ------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists."""
        if self._overrides("predict_single"):
            return one_dimensional([self.predict_single(items) for items in X])
        labels: NDArray[np.object_] = self._answer("predict", X)
        return labels

    def predict_single(self, xseq: Any) -> list[str]:
        """Labels of one sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Any) -> NDArray[np.object_]:
        """Per sequence a list of dicts, label -> probability: a one-dimensional object array."""
        if self._overrides("predict_marginals_single"):
            return one_dimensional([self.predict_marginals_single(items) for items in X])
        return one_dimensional(self._answer("predict_marginals", X))

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Marginal probabilities of one sequence."""
        return self._fitted().scored(xseq).predict_marginals()[0]

    def _overrides(self, name: str) -> bool:
        """Whether a subclass, or somebody on this object or on the class, replaced a method."""
        return getattr(type(self), name) is not OWN[name] or name in vars(self)

    def _answer(self, question: str, X: Any) -> Any:
        """The chain's answer for all sequences; the last one becomes the current sequence of the tagger."""
        tagger = self._fitted()
        ask = getattr(tagger.crf_, question)
        if is_only_for_chains(X):
            return ask(X)
        sequences = [list_of_items(items) for items in X]
        if len(sequences) == 1:
            return getattr(tagger.scored(sequences[0]), question)()
        answer, read = with_plain_items(ask, sequences)
        if read:
            tagger.set(read[-1])
        return answer

    def _fitted(self) -> Tagger:
        self._require_fitted()
        assert self.tagger_ is not None
        return self.tagger_

    def score(self, X: Any, y: Any) -> float:
        """Token accuracy."""
        return flat_accuracy_score(y, self.predict(X))

    # -- fitted attributes ------------------------------------------------------------------------

    @property
    def chain_(self) -> ChainCRF:
        """The ChainCRF, with k_best, span_probability, save and its other methods."""
        return self._fitted().crf_

    @property
    def tagger_(self) -> Tagger | None:
        """A tagger with the model; None before ``fit``, like the attributes below."""
        if self._tagger is None and self.model_filename and Path(self.model_filename).exists():
            tagger = Tagger()
            tagger.open(self.model_filename)
            self._tagger = tagger
        return self._tagger

    @property
    def modelfile(self) -> ModelFile:
        """Where the model is stored; see ModelFile."""
        if self._modelfile is None:
            chain = None if self.tagger_ is None else self.tagger_.crf_
            file = ModelFile(self.model_filename, chain, keep_tempfiles=self.keep_tempfiles)
            if chain is None:  # there may be one later
                return file
            self._modelfile = file
        return self._modelfile

    @property
    def classes_(self) -> list[str] | None:
        """The labels, sorted."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Bytes of the model."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes with a weight that is not zero."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """Those attributes."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """(attribute, label) -> weight, without zeros."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """(label before, label) -> weight, without zeros."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        return None if self.tagger_ is None else self.tagger_.info()

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None


# what _overrides compares with
OWN = {name: getattr(CRF, name) for name in ("predict_single", "predict_marginals_single")}
