"""Scorers for ``scoring=`` of scikit-learn's searches and cross-validation: (estimator, X, y) -> number."""

from __future__ import annotations

from typing import Any

from fieldcraft.compat.metrics import flat_accuracy_score, sequence_accuracy_score


def flat_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The share of tokens that the estimator labels rightly."""
    return flat_accuracy_score(y, estimator.predict(X))


def sequence_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The share of sequences that the estimator labels rightly from end to end."""
    return sequence_accuracy_score(y, estimator.predict(X))
