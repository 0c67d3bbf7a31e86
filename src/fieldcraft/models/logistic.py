"""Multinomial logistic regression: the conditional model of rows, and its naive Bayes twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldcraft.models.rows import RowModel, parameters_of, sequences_of_rows

if TYPE_CHECKING:
    from fieldcraft.models.naive_bayes import NaiveBayes


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

    def to_naive_bayes(self) -> NaiveBayes:
        """The naive Bayes model with the same posterior.

        p(f | y) = exp(w_{f y}) / c and p(y) is proportional to exp(b_y), where c is the largest sum of
        exp(w_{f y}) over features of a label. What a label has left over belongs to features that training
        never saw, so that the probabilities of a label sum to one and no row is judged differently.

        >>> rows = [{"warm": 1.0}, {"cold": 1.0}]
        >>> model = LogisticRegression().fit(rows, ["sun", "rain"])
        >>> twin = model.to_naive_bayes()
        >>> bool(abs(twin.predict_proba(rows) - model.predict_proba(rows)).max() < 1e-12)
        True
        """
        from fieldcraft.models.naive_bayes import NaiveBayes

        self._require_fitted()
        table, bias = self._table(), self._bias
        features = np.arange(len(table)) != bias
        if features.any():
            table[features] -= np.logaddexp.reduce(table[features], axis=0).max()
        table[bias] -= np.logaddexp.reduce(table[bias])
        model = NaiveBayes(labels=self.labels, n_jobs=self.n_jobs, random_state=self.random_state)
        parameters = parameters_of(
            self._parameters.encoder, table, self.structure_for(self.classes_.tolist())
        )
        model._settle(parameters, self.classes_.tolist())
        return model
