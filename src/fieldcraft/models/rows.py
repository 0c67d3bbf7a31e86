"""Models of single rows: logistic regression and naive Bayes, as chains of length one.

    p(y | x) = exp(b_y + sum of x_f w_{f y}) / Z(x)

X has one row of features per example: a dict of numbers, a list of names, or a dict of texts. Naive Bayes
counts (multinomial, with smoothing), logistic regression maximises the conditional likelihood of the same
weights: the two are a generative and a discriminative model of one family.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.design import make_encoder, windows_of
from fieldcraft.errors import InputError
from fieldcraft.features.index import FeatureIndex
from fieldcraft.labels import declared_labels
from fieldcraft.models.model import Model
from fieldcraft.models.parameters import Parameters
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

Floats = NDArray[np.float64]
BIAS = "(bias)"


class RowModel(Model):
    """What the two have in common: predictions for rows."""

    def predict(self, X: Any, *, constraints: Any = None) -> NDArray[np.object_]:
        """Labels: a one-dimensional array."""
        del constraints
        lists = super().predict(X)
        return np.array([*(labels[0] for labels in lists), None], object)[:-1]

    def predict_proba(self, X: Any, *, constraints: Any = None) -> Any:
        """Probabilities: an array [rows, Y] in the order of ``classes_``."""
        del constraints
        return np.concatenate([np.zeros((0, len(self.classes_))), *super().predict_proba(X)])

    def log_probability(self, X: Any, y: Any = None) -> Floats:
        """log p(y | x) of each row."""
        return super().log_probability(X, [[label] for label in y])

    def score(self, X: Any, y: Any = None) -> float:
        """The fraction of rows whose label is right."""
        return float(np.mean([a == b for a, b in zip(self.predict(X), y)]))

    def structure_for(self, labels: Sequence[str]) -> LinearChain:
        """A chain over the labels, of which rows use one position."""
        return LinearChain(StateSpace.labels(labels))

    def _scored(self, X: Any, *arguments: Any, **options: Any) -> Any:
        return super()._scored(sequences_of_rows(X), *arguments, **options)


class LogisticRegression(RowModel):
    """Multinomial logistic regression.

    Parameters
    ----------
    prior : penalty on the weights, as for ChainCRF
    features : "all" (every feature with every label) or "supported" (those that occur together)
    labels : names of the labels, in order; None for those that occur, sorted
    n_jobs, random_state : as for ChainCRF

    Examples
    --------
    >>> model = LogisticRegression().fit([{"warm": 1.0}, {"cold": 1.0}], ["sun", "rain"])
    >>> model.predict([{"warm": 2.0}]).tolist()
    ['sun']
    """

    def __init__(
        self,
        prior: Any = "auto",
        features: str = "all",
        *,
        labels: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.prior, self.features, self.labels = prior, features, labels
        self.n_jobs, self.random_state = n_jobs, random_state

    def fit(self, X: Any, y: Any) -> LogisticRegression:
        """Maximise the penalised conditional likelihood of labels y, one per row."""
        from fieldcraft.models.chain import ChainCRF

        crf = ChainCRF(
            prior=self.prior,
            features=self.features,
            labels=self.labels,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(sequences_of_rows(X), [[label] for label in y])
        self._settle(crf._parameters, crf.classes_.tolist())
        self.objective_value_ = crf.objective_value_
        return self


class NaiveBayes(RowModel):
    """Multinomial naive Bayes: p(x, y) = p(y) * product over features of p(f | y) ** x_f.

    Parameters
    ----------
    smoothing : what is added to the count of every feature with every label
    labels : names of the labels, in order; None for those that occur, sorted
    n_jobs, random_state : as for ChainCRF

    Examples
    --------
    >>> model = NaiveBayes().fit([["warm"], ["cold"], ["warm", "wet"]], ["sun", "rain", "sun"])
    >>> model.predict([["cold"]]).tolist()
    ['rain']
    """

    def __init__(
        self,
        smoothing: float = 1.0,
        *,
        labels: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.smoothing, self.labels = smoothing, labels
        self.n_jobs, self.random_state = n_jobs, random_state

    def fit(self, X: Any, y: Any) -> NaiveBayes:
        """Count features with labels y, one per row; the numbers of features must not be negative."""
        if not float(self.smoothing) >= 0.0:
            raise InputError(f"smoothing={self.smoothing!r}; it must not be negative")
        given = list(y)
        names = declared_labels(self.labels, [given])
        encoder = make_encoder(None)
        encoded = encoder.encode(sequences_of_rows(X), grow=True)
        if len(encoded.token_ptr) - 1 != len(given):
            raise InputError(f"{len(given)} labels for {len(encoded.token_ptr) - 1} rows")
        number = {name: i for i, name in enumerate(names)}
        gold = np.array([number[label] for label in given], np.int64)
        of = np.repeat(gold, np.diff(encoded.token_ptr))
        values = np.ones(len(of)) if encoded.values is None else encoded.values
        if values.min(initial=0.0) < 0:
            raise InputError("naive Bayes counts features: their numbers must not be negative")
        counts = np.zeros((encoder.n_attributes, len(names)))
        np.add.at(counts, (encoded.attributes, of), values)
        bias = list(encoder.attribute_text(range(encoder.n_attributes))).index(BIAS)
        rows = np.arange(encoder.n_attributes) != bias
        counts[rows] += float(self.smoothing)
        with np.errstate(divide="ignore"):
            counts[rows] = np.log(counts[rows] / counts[rows].sum(axis=0))
            counts[bias] = np.log(np.bincount(gold, minlength=len(names)) / len(gold))
        self._settle(parameters_of(encoder, counts, self.structure_for(names)), names)
        return self

    def to_logistic(self) -> LogisticRegression:
        """The logistic regression with the same weights, and so the same posterior."""
        self._require_fitted()
        model = LogisticRegression(labels=self.labels, n_jobs=self.n_jobs, random_state=self.random_state)
        model._settle(self._parameters, self.classes_.tolist())
        return model


def sequences_of_rows(X: Iterable[Any]) -> list[list[Any]]:
    """Rows as sequences of length one, each with a feature that is always there."""
    out: list[list[Any]] = []
    for i, row in enumerate(X):
        if isinstance(row, dict):
            out.append([{**row, BIAS: 1.0}])
        elif isinstance(row, (list, tuple, set)):
            out.append([[*row, BIAS]])
        else:
            raise InputError(f"row {i} is a {type(row).__name__}; give a dict or a list of features")
    return out


def parameters_of(encoder: Any, table: Floats, structure: LinearChain) -> Parameters:
    """Weights [A, Y] of attributes with labels."""
    attribute, label = (part.astype(np.int32) for part in np.divmod(np.arange(table.size), table.shape[1]))
    blank = np.zeros(table.size, np.int32)
    labels = np.stack([np.full(table.size, -1, np.int32), label]).T
    template = encoder.attribute_template[attribute]
    index = FeatureIndex(attribute, labels, template, blank, blank, windows_of(encoder), encoder.n_attributes)
    return Parameters.of(encoder, index, table.ravel(), structure)
