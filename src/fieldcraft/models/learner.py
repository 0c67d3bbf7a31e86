"""Training of estimators: fit, and partial_fit for data that arrives in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fieldcraft.distributed import Ranks
from fieldcraft.errors import InputError
from fieldcraft.models.answers import Answers
from fieldcraft.models.distributed_training import DistributedTraining
from fieldcraft.models.inputs import corpus_of, source_of
from fieldcraft.models.parameters import UNCALIBRATED
from fieldcraft.models.training import Training
from fieldcraft.models.training_settings import Known, Settings, Trained
from fieldcraft.models.voting import Voters
from fieldcraft.objectives import Objective
from fieldcraft.optimisers import Optimiser
from fieldcraft.optimisers.loop import Record
from fieldcraft.priors import Prior

Self = TypeVar("Self", bound="Learner")


class Learner(Answers):
    """An estimator that an optimiser trains."""

    training_log_: list[Record]
    objective_value_: float
    stop_reason_: str
    converged_: bool
    n_iter_: int
    optimiser_: Optimiser
    prior_: Prior
    objective_: Objective
    source_: dict[str, Any] | None
    provenance_: dict[str, Any]

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        score_every: int | None = None,
        patience: int | None = None,
        keep_best: bool = False,
        max_seconds: float | None = None,
        feature_mask: Any = None,
        snapshot: Any = None,
        snapshot_every: int = 10,
        resume: bool = False,
        callbacks: Iterable[Callable[[Record], Any]] = (),
        ranks: Ranks | None = None,
    ) -> Self:
        """Train on sequences with their labels.

        Parameters
        ----------
        X, y : sequences (or EncodedSequences) and label lists; or a labelled Corpus and no y
        sample_weight : [N] weight of each sequence
        X_dev, y_dev : held-out data, scored as training goes on and at its end
        score_every : iterations from one held-out score to the next; None chooses it by the sizes of both
            sets, so that scoring takes about a tenth of the time. Records in between have ``held_out=None``
        patience : stop after this many held-out scores without a better one, and keep the best weights
        keep_best : keep the best weights without stopping early
        max_seconds : time limit
        feature_mask : [F] True for weights that may differ from zero, or a function of the feature index
        snapshot : file to which the training state is written every ``snapshot_every`` iterations
        resume : continue from ``snapshot``
        callbacks : called with the record of each iteration; training stops if one returns True. Where
            defined, their methods ``begin(encoder, features, max_iterations)`` and ``tell(line)``, with
            remarks, are called before training, ``end(reason)`` after it
        ranks : the processes of an MPI job that train together, ``fc.Ranks()``; X and y are then this
            process's part of the data, X_dev and y_dev the same on all, and all of them get the same model
        """
        if X_dev is None and y_dev is not None:
            raise InputError("y_dev is given without X_dev; pass both, or X_dev alone if it is a corpus")
        X = corpus_of(X)
        trained = self._training(ranks=ranks).run(
            X,
            y,
            sample_weight=sample_weight,
            dev=None if X_dev is None else (X_dev, y_dev),
            feature_mask=feature_mask,
            snapshot=snapshot,
            resume=resume,
            control={
                "score_every": score_every,
                "patience": patience,
                "keep_best": keep_best,
                "max_seconds": max_seconds,
                "snapshot_every": snapshot_every,
                "callbacks": tuple(callbacks),
            },
        )
        self._store(trained)
        self.source_ = source_of(X)
        return self

    def partial_fit(
        self: Self,
        X: Any,
        y: Any = None,
        classes: Iterable[str] | None = None,
        *,
        sample_weight: Any = None,
        max_seconds: float | None = None,
        callbacks: Iterable[Callable[[Record], Any]] = (),
    ) -> Self:
        """Continue training with more sequences, which may have new features and new labels.

        New labels are appended to ``classes_`` and new features to ``features_``; the others keep their
        positions. Training uses the new sequences only and starts from the current weights. A Gaussian prior
        is centred on them, with a smaller variance for features that were seen more often, so that earlier
        weights change only if the new sequences contradict them. With other priors the effect of the earlier
        data fades quickly.

        Parameters
        ----------
        X, y : sequences and label lists; or a labelled Corpus and no y
        classes : further labels, which need not occur in the sequences
        sample_weight, max_seconds, callbacks : as in fit

        Examples
        --------
        >>> from fieldcraft import ChainCRF
        >>> crf = ChainCRF().partial_fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
        >>> crf = crf.partial_fit([[["w=c"], ["w=b"]]], [["Z", "Y"]])
        >>> crf.classes_.tolist(), crf.predict([[["w=a"]], [["w=c"]]]).tolist()
        (['X', 'Y', 'Z'], [['X'], ['Z']])
        """
        trained = self._training(growing=True).run(
            X,
            y,
            sample_weight=sample_weight,
            classes=() if classes is None else classes,
            control={"max_seconds": max_seconds, "callbacks": tuple(callbacks)},
        )
        return self._store(trained)

    def _training(self, *, growing: bool = False, ranks: Ranks | None = None) -> Training:
        """A training with the parameters of this estimator."""
        known = None
        if self.__sklearn_is_fitted__():
            provenance = getattr(self, "provenance_", {})
            known = Known(self._parameters.calibrated(UNCALIBRATED), self.classes_.tolist(), provenance)
        if ranks is not None:
            return DistributedTraining(ranks, Settings.of(self), self.structure_for, known)
        return Training(Settings.of(self), self.structure_for, known, growing=growing)

    def _store(self: Self, trained: Trained) -> Self:
        """Store the result of a training."""
        outcome, parameters = trained.outcome, trained.parameters
        extras = outcome.extras
        voters = Voters.of(parameters.scoring, extras["votes"], extras["voters"]) if extras else None
        self._settle(parameters, trained.classes, voters)
        self.source_, self.provenance_ = None, trained.provenance
        self.optimiser_, self.prior_, self.objective_ = trained.optimiser, trained.prior, trained.objective
        self.training_log_, self.objective_value_ = outcome.records, outcome.objective
        self.stop_reason_, self.converged_ = outcome.reason, outcome.converged
        self.n_iter_ = len(outcome.records)
        return self
