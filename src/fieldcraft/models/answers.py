"""Predictions of an estimator; a scored batch (scored.py) computes each of them.

Every kind of model inherits these methods and defines ``structure_for(labels)``. A trained model has
``classes_`` and ``_parameters`` with an ``encoder``, a ``scorer`` and the ``structure``, and ``voters_`` if
its predictions are voted on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import Encoder
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.several import parts_of
from fieldcraft.features.templates import Templates
from fieldcraft.models.blocks import Predictor
from fieldcraft.models.estimator import Estimator
from fieldcraft.models.inputs import encode
from fieldcraft.models.scored import Scored
from fieldcraft.models.training_settings import Settings
from fieldcraft.problems import crew
from fieldcraft.structures.answers import Decoding
from fieldcraft.structures.beams import ALL, resolve_beam
from fieldcraft.structures.structure import Structure
from fieldcraft.threads import resolve_jobs

if TYPE_CHECKING:
    from fieldcraft.features.index import FeatureIndex
    from fieldcraft.inspection import Explanation, Inspection
    from fieldcraft.models.constrained import Constrained
    from fieldcraft.models.parameters import Parameters
    from fieldcraft.models.text import TextSpan
    from fieldcraft.models.voting import Voters

Floats = NDArray[np.float64]
T = TypeVar("T")


class Answers(Settings, Estimator):
    """Predictions for sequences, and the inspection of a model; large inputs are scored block by block."""

    classes_: NDArray[np.object_]
    voters_: Voters | None  # of a voted perceptron
    _parameters: Parameters

    def structure_for(self, labels: Sequence[str]) -> Structure:
        """The structure of a model with these labels."""
        raise NotImplementedError

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
    def temperature_(self) -> float:
        """What divides all potentials: 1 unless the model was calibrated, see ``fc.calibrate``."""
        self._require_fitted()
        return self._parameters.calibration.temperature

    @property
    def encoder_(self) -> Encoder:
        """Sequences -> attributes."""
        self._require_fitted()
        return self._parameters.encoder

    @property
    def templates_(self) -> Templates | None:
        """The templates, given or chosen; None for a model of features."""
        parts = parts_of(self.encoder_)
        looks = [part.templates for part in parts if isinstance(part, TemplateFeatures)]
        return looks[0] if len(looks) == 1 else None

    def scored(self, X: Any) -> Scored:
        """Encode and score X once; the result has the methods below, without the argument X.

        Use it for several predictions about the same sequences. It keeps 8 bytes for each token and label,
        see ``Scored``; the methods of the model itself keep one block of about 20,000 tokens at a time.
        """
        return self._scored(X, keep=True)

    def predict(self, X: Any, *, constraints: Any = None) -> NDArray[np.object_]:
        """Labels: a one-dimensional object array of label lists.

        ``constraints`` (``fc.at_most(1, "city")`` …) are a list for all sequences, or a list of lists; where
        no labelling obeys them it is an InputError. None for those of the model.
        """
        return self._under(X, constraints, lambda of: of.predict())

    def decode(self, X: Any, *, constraints: Any = None, rounded: bool = False) -> list[Decoding]:
        """Labels with their log-probability, one Decoding per sequence.

        It says whether the labels are proved to be the best. Under ``constraints`` labels is None where no
        labelling obeys them, and ``why`` names those in conflict; ``value`` is log p(y | x) of the model
        without them. Where constraints need a linear programme whose solution is fractional, an integer
        programme follows, which may take long; with ``rounded`` a labelling near the fractions that obeys is
        taken instead, and ``gap`` says how far from the best it may be.
        """
        return self._under(X, constraints, lambda of: of.decode(), rounded=rounded)

    def predict_proba(self, X: Any, *, constraints: Any = None) -> NDArray[np.object_]:
        """Marginal probabilities: an object array of [T, Y] arrays in the order of ``classes_``.

        Under ``constraints`` they are those given that the constraints are obeyed.
        """
        return self._under(X, constraints, lambda of: of.predict_proba())

    def predict_marginals(self, X: Any, *, constraints: Any = None) -> list[list[dict[str, float]]]:
        """Marginal probabilities as lists of dicts: label -> probability."""
        return self._under(X, constraints, lambda of: of.predict_marginals())

    def k_best(self, X: Any, k: int, *, constraints: Any = None) -> list[list[tuple[list[str], float]]]:
        """Per sequence the k most probable labellings with their log-probabilities."""
        return self._under(X, constraints, lambda of: of.k_best(k))

    def sample(self, X: Any, n: int, *, constraints: Any = None) -> list[list[list[str]]]:
        """Per sequence n labellings drawn from p(y | x); fixed by ``random_state``."""
        return self._under(X, constraints, lambda of: of.sample(n))

    def log_partition(self, X: Any) -> Floats:
        """log Z of each sequence [N]."""
        return self._ask(X, lambda scored: scored.log_partition())

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """log p(y | x) of each sequence [N]; unknown labels raise an InputError."""
        return self._ask(X, lambda scored: scored.log_probability(y))

    def entropy(self, X: Any) -> Floats:
        """Entropy of p(y | x) of each sequence [N], in nats."""
        return self._ask(X, lambda scored: scored.entropy())

    def span_probability(self, X: Any, spans: Sequence[Iterable[Any]]) -> list[list[float]]:
        """Probability of each span; ``spans`` has a list of (start, end, label) per sequence.

        If the labels form a scheme (IOB, IOBES …) that is the probability that the span is an entity of the
        labelling, not longer and not shorter; else that all its positions have the label.
        """
        return self._ask(X, lambda scored: scored.span_probability(spans))

    def predict_text(
        self, strings: Iterable[str], *, to_sequence: Callable[[list[str]], Any] | None = None
    ) -> list[list[TextSpan]]:
        """Spans in raw strings: per string a list of ``TextSpan(start, end, label, text, probability)``.

        Positions count characters. The ``tokenizer`` cuts the strings into words; ``to_sequence`` turns
        the words of one string into a sequence as X would have it, where words alone are not enough.
        """
        from fieldcraft.models.text import predict_text

        self._require_fitted()
        return predict_text(self, strings, to_sequence)

    def score(self, X: Any, y: Any = None) -> float:
        """The score by ``metric``: with "auto" span F if the labels form a scheme, else token accuracy.

        ``metric="token_accuracy"`` scores tokens in any case. ``y`` defaults to the labels of the corpus.
        """
        return self._ask(X, lambda scored: scored.score(y, metric=self.metric))

    def explain(
        self, sequence: Any, *, token: int | None = None, label: str | None = None, top: int = 10
    ) -> Explanation:
        """Explain the labels of one sequence: each feature's vote between a token's label and the runner-up.

        Parameters
        ----------
        sequence : one element of X, or a Sequence of a corpus
        token : position of the token to explain; None for all
        label : contrast with this label instead of the runner-up
        top : how many votes to list
        """
        from fieldcraft.inspection.observations import only

        return self._scored(only(sequence), keep=True).explain(0, token=token, label=label, top=top)

    def inspect(
        self,
        *,
        top: int = 20,
        label: str | None = None,
        attribute: str | None = None,
        template: str | None = None,
    ) -> Inspection:
        """Summary of the model: transitions, strongest features, templates.

        Parameters
        ----------
        top : how many features to list, for and against
        label : only features with this label
        attribute : only attributes that match this name, a pattern with ``*`` and ``?``, or a substring
        template : only features of this template, or of those that match a pattern
        """
        from fieldcraft.inspection.overview import inspect_model

        return inspect_model(
            self,
            self._predictor().weight_table(),
            top=top,
            label=label,
            attribute=attribute,
            template=template,
        )

    def _settle(self, parameters: Parameters, classes: Sequence[str], voters: Voters | None = None) -> None:
        """Become fitted."""
        self.classes_ = np.array([*classes, None], object)[:-1]
        self._parameters, self.voters_ = parameters, voters

    def _beside(self, parameters: Parameters) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Entries of the header and arrays that its file has besides those of every model."""
        del parameters
        return {}, {}

    def _take(self, parameters: Parameters, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Read what ``_beside`` wrote."""

    def _ask(self, X: Any, question: Callable[[Scored], T]) -> T:
        """The result of a question about X, for whose parts the same threads stay."""
        predictor = self._predictor()
        with crew(predictor.structure.n_jobs):
            return question(self._scored(X, predictor))

    def _under(
        self,
        X: Any,
        constraints: Any,
        question: Callable[[Scored | Constrained], T],
        *,
        rounded: bool = False,
    ) -> T:
        """The result of a question about X under constraints, or without any."""
        constraints = getattr(self, "constraints", None) if constraints is None else constraints
        if constraints is None:
            return self._ask(X, question)
        from fieldcraft.models.constrained import Constrained as Under

        predictor = self._predictor()
        with crew(predictor.structure.n_jobs):
            encoded = self._scored(X, predictor).encoded
            return question(Under(predictor, encoded, constraints, rounded=rounded))

    def _scored(self, X: Any, predictor: Predictor | None = None, *, keep: bool = False) -> Scored:
        predictor = self._predictor() if predictor is None else predictor
        encoded = encode(X, self._parameters.encoder, grow=False, n_threads=predictor.structure.n_jobs)
        return Scored(predictor, X, encoded, keep=keep)

    def _predictor(self) -> Predictor:
        self._require_fitted()
        parameters, n_jobs = self._parameters, resolve_jobs(self.n_jobs)
        structure = parameters.structure
        if structure.n_jobs != n_jobs:
            structure = parameters.structure = structure.using(n_jobs)  # for the next call
        if resolve_beam(self.beam) != getattr(structure, "beam", ALL):
            structure = parameters.structure = structure.searching(self.beam)
        return Predictor(
            self.classes_,
            structure,
            parameters.scorer,
            self.decoding,
            getattr(self, "voters_", None),
            self.random_state,
            parameters,
            parameters.ranker,
        )
