"""sklearn-crfsuite's metrics: scikit-learn's, on the concatenated labels of all tokens.

Accuracies need no scikit-learn; the others import it when called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fieldcraft.compat.utils import flatten as flatten
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import token_accuracy

Labellings = Iterable[Sequence[str]]


def flat_accuracy_score(y_true: Labellings, y_pred: Labellings) -> float:
    """The fraction of tokens with the right label.

    >>> flat_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.6666666666666666
    """
    return token_accuracy(y_true, y_pred)


def sequence_accuracy_score(y_true: Labellings, y_pred: Labellings) -> float:
    """The fraction of sequences with all labels right; one of another length is wrong.

    >>> sequence_accuracy_score([["A", "B"], ["A"], ["A", "B"]], [["A", "A"], ["A"], ["A"]])
    0.3333333333333333
    """
    gold, predicted = list(y_true), list(y_pred)
    if len(gold) != len(predicted):
        raise InputError(f"{len(predicted)} predicted sequences where {len(gold)} are there")
    return sum(list(a) == list(b) for a, b in zip(gold, predicted)) / max(len(gold), 1)


def flat_precision_score(y_true: Labellings, y_pred: Labellings, **kwargs: Any) -> Any:
    """``sklearn.metrics.precision_score`` of all tokens."""
    return _flat("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Labellings, y_pred: Labellings, **kwargs: Any) -> Any:
    """``sklearn.metrics.recall_score`` of all tokens."""
    return _flat("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Labellings, y_pred: Labellings, **kwargs: Any) -> Any:
    """``sklearn.metrics.f1_score`` of all tokens."""
    return _flat("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Labellings, y_pred: Labellings, beta: float, **kwargs: Any) -> Any:
    """``sklearn.metrics.fbeta_score`` of all tokens."""
    return _flat("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Labellings, y_pred: Labellings, labels: Any = None, **kwargs: Any
) -> Any:
    """``sklearn.metrics.classification_report`` of all tokens."""
    return _flat("classification_report", y_true, y_pred, labels=labels, **kwargs)


def _flat(name: str, y_true: Labellings, y_pred: Labellings, **kwargs: Any) -> Any:
    """The metric of scikit-learn called ``name`` on the concatenated labels."""
    gold, predicted = list(y_true), list(y_pred)
    lengths, others = [len(labels) for labels in gold], [len(labels) for labels in predicted]
    if lengths != others:
        pairs = enumerate(zip(lengths, others))
        where = next((f"sequence {i}: {b} labels for {a} tokens" for i, (a, b) in pairs if a != b), None)
        raise InputError(where or f"{len(predicted)} predicted sequences where {len(gold)} are there")
    try:
        from sklearn import metrics  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(f"flat_{name} needs scikit-learn: pip install scikit-learn") from None
    return getattr(metrics, name)(flatten(gold), flatten(predicted), **kwargs)
