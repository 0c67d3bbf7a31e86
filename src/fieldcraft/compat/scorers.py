"""Scorers for ``scoring=`` of scikit-learn's searches and cross-validation: (estimator, X, y) -> number."""

from __future__ import annotations

from typing import Any

from fieldcraft.compat.metrics import flat_accuracy_score, sequence_accuracy_score


def flat_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The fraction of tokens that the estimator labels correctly."""
    return flat_accuracy_score(y, estimator.predict(X))


def sequence_accuracy(estimator: Any, X: Any, y: Any) -> float:
    """The fraction of sequences whose labels are all correct."""
    return sequence_accuracy_score(y, estimator.predict(X))


def make_scorer(score_func: Any, **kwargs: Any) -> Any:
    """``sklearn.metrics.make_scorer``: a scorer from a function of gold and predicted labels."""
    try:
        from sklearn import metrics  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError("make_scorer needs scikit-learn: pip install scikit-learn") from None
    return metrics.make_scorer(score_func, **kwargs)
