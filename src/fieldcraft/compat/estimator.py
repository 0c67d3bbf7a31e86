"""CRF: sklearn-crfsuite's estimator over fieldcraft's chain.

Same parameters, methods and fitted attributes. The model is in memory and is pickled with the
estimator; ``model_filename`` names a file in fieldcraft's format, written by ``fit`` and read if not fitted.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.compat.algorithms import ALGORITHMS, resolve_algorithm
from fieldcraft.compat.metrics import flat_accuracy_score
from fieldcraft.compat.pycrfsuite import ItemSequence, ParsedDump, Tagger, Trainer, TrainingLog
from fieldcraft.compat.pycrfsuite.items import list_of_items
from fieldcraft.compat.trainer import LinePerIterationTrainer
from fieldcraft.errors import InputError
from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.estimator import Estimator
from fieldcraft.models.inputs import labels_of

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


class ModelFile(NamedTuple):
    """Where the model is stored: a path, or None for memory."""

    name: str | None
    auto: bool


@dataclass(repr=False, eq=False)
class CRF(Estimator):
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
    keep_tempfiles : without effect, there are none
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
    trainer_cls: type[Trainer] | None = None
    training_log_: TrainingLog | None = field(default=None, init=False)
    _tagger: Tagger | None = field(default=None, init=False)

    # -- training ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sequences of items with their labels; held-out ones are scored after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise InputError("one of X_dev and y_dev is missing; pass both or none")
        trainer = self._trainer()
        for group, (sequences, labels) in enumerate([(X, y), (X_dev, y_dev)]):
            if sequences is not None:
                for items, gold in zip(sequences, labels_of(sequences, labels)):
                    trainer.append(items, gold, group)
        trainer.train(self.model_filename or "", holdout=-1 if X_dev is None else 1)
        self.training_log_, self._tagger = trainer.logparser, Tagger(trainer.crf_)
        return self

    def _trainer(self) -> Trainer:
        algorithm = resolve_algorithm(self.algorithm or "lbfgs")
        chosen = {
            name: value
            for name, value in self.get_params().items()
            if name not in NOT_FOR_TRAINING and value is not None
        }
        known = ALGORITHMS[algorithm].parameters
        foreign = [name for name in chosen if RENAMED.get(name, name) not in known]
        if foreign:
            raise InputError(f"{foreign[0]} is no parameter of algorithm={algorithm!r}; leave it out")
        kind = self.trainer_cls or LinePerIterationTrainer
        if not (inspect.isclass(kind) and issubclass(kind, Trainer)):
            raise InputError(
                f"trainer_cls is {kind!r}; pass a subclass of fieldcraft.compat.pycrfsuite.Trainer"
            )
        params = {RENAMED.get(name, name): value for name, value in chosen.items()}
        return kind(algorithm=algorithm, params=params, verbose=self.verbose)

    # -- predictions ------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists."""
        return self.chain_.predict(_lists(X))

    def predict_single(self, xseq: Any) -> list[str]:
        """Labels of one sequence."""
        return list(self.predict([xseq])[0])

    def predict_marginals(self, X: Any) -> NDArray[np.object_]:
        """Per sequence a list of dicts, label -> probability: a one-dimensional object array."""
        marginals = self.chain_.predict_marginals(_lists(X))
        out = np.empty(len(marginals), object)
        out[:] = marginals or None
        return out

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Marginal probabilities of one sequence."""
        return list(self.predict_marginals([xseq])[0])

    def score(self, X: Any, y: Any) -> float:
        """Token accuracy."""
        return flat_accuracy_score(y, self.predict(X))

    # -- fitted attributes ------------------------------------------------------------------------

    @property
    def chain_(self) -> ChainCRF:
        """The ChainCRF, with k_best, span_probability, save and its other methods."""
        self._require_fitted()
        assert self.tagger_ is not None
        return self.tagger_.crf_

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
        """Where the model is stored; ``name`` is None if it is in memory only."""
        return ModelFile(self.model_filename, self.model_filename is None)

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


def _lists(X: Any) -> Any:
    """X with its item sequences as lists; the chain checks everything else."""
    if isinstance(X, (list, tuple, np.ndarray)) and any(isinstance(items, ItemSequence) for items in X):
        return [list_of_items(items) for items in X]
    return X
