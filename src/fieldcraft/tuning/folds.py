"""Predictions of cross-validation: every sequence is labelled by a model that did not learn from it.

scikit-learn's ``cross_val_predict`` does the same for labels. For probabilities it would number the labels of
y, which sequences of labels do not survive; and a fold that lacks a label would have a column less. Here all
models know all labels, so that the columns of ``predict_proba`` are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.labels import declared_labels
from fieldcraft.models.inputs import labels_of

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def cross_val_predict(
    model: Any, X: Any, y: Any = None, *, cv: Any = 5, method: str = "predict", groups: Any = None
) -> NDArray[np.object_]:
    """Predictions for every sequence by a model that was trained on the other folds.

    Parameters
    ----------
    model : an estimator, whose parameters the model of each fold gets; it is not trained itself
    X, y : sequences and label lists; or a labelled Corpus and no y
    cv : number of folds, each of sequences that follow one another; a splitter of scikit-learn (``KFold``,
        ``GroupKFold`` …); or pairs of positions to train on and to predict
    method : "predict", "predict_proba", or any other method that returns something for each sequence
    groups : for splitters that need it

    Returns
    -------
    one object per sequence, in the order of X. Columns of ``predict_proba`` are all labels of y, sorted, or
    those that the model declares

    Examples
    --------
    >>> from fieldcraft import ChainCRF
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]], [["w=the"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"], ["DET", "NOUN"]]
    >>> probabilities = cross_val_predict(ChainCRF(), X, y, cv=3, method="predict_proba")
    >>> probabilities[0].round(2).tolist()
    [[0.93, 0.07], [0.07, 0.93]]
    """
    labels = labels_of(X, y)
    settings = model.get_params()
    if "labels" in settings and settings["labels"] is None:
        settings["labels"] = declared_labels(None, labels)
    answers = np.empty(len(labels), object)
    for train, test in _splits(cv, len(labels), groups):
        trained = type(model)(**settings).fit(_some(X, train), [labels[i] for i in train])
        for i, answer in zip(test.tolist(), getattr(trained, method)(_some(X, test))):
            answers[i] = answer
    return answers


def _splits(cv: Any, n: int, groups: Any) -> list[Split]:
    """Positions to train on and to predict; together the latter are all, each once."""
    pairs: Iterable[Any] = cv
    if isinstance(cv, (int, np.integer)):
        folds = whole_number(cv, "cv", 2, "the number of folds")
        if folds > n:
            raise InputError(f"cv={cv}: {folds} folds of {n} sequences; use at most {n}")
        pairs = [(np.setdiff1d(np.arange(n), test), test) for test in np.array_split(np.arange(n), folds)]
    elif hasattr(cv, "split"):
        pairs = cv.split(np.zeros(n), None, groups)
    elif not isinstance(cv, Iterable):
        raise InputError(
            f"cv is a {type(cv).__name__}; give a number of folds, a splitter or pairs of positions"
        )
    splits = [(np.asarray(train, np.int64), np.asarray(test, np.int64)) for train, test in pairs]
    if not np.array_equal(
        np.sort(np.concatenate([test for _, test in splits] or [np.zeros(0, np.int64)])), np.arange(n)
    ):
        raise InputError("the folds of cv must contain every sequence once; use KFold or a number of folds")
    return splits


def _some(X: Any, positions: NDArray[np.int64]) -> Any:
    chosen = positions.tolist()
    return X[chosen] if isinstance(X, Corpus) else [X[i] for i in chosen]
