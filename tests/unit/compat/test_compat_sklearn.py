"""scikit-learn's tools on compat.CRF: clone, searches in processes, cross-validation, pipelines, scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft.compat import CRF, metrics, scorers
from unit.models.small import LABELS, corpus

pytest.importorskip("sklearn")

from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

X, Y = corpus(LABELS["plain"], n=23)


def short(**params: Any) -> CRF:
    return CRF(max_iterations=8, **params)


def test_clone() -> None:
    crf = short(c1=0.1, c2=0.2, all_possible_transitions=True).fit(X, Y)
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert copy.tagger_ is None
    assert copy.fit(X, Y).state_features_ == crf.state_features_


def test_check_is_fitted() -> None:
    with pytest.raises(NotFittedError):
        check_is_fitted(short())
    check_is_fitted(short().fit(X, Y))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(n_jobs: int | None) -> None:
    grid = {"c1": [0.0, 0.1], "c2": [0.01, 1.0]}
    scoring = make_scorer(metrics.flat_f1_score, average="weighted", zero_division=0)
    search = GridSearchCV(short(), grid, cv=2, n_jobs=n_jobs, scoring=scoring).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    expected = short(**search.best_params_).fit(X, Y)
    assert search.predict(X).tolist() == expected.predict(X).tolist()
    assert search.best_estimator_.state_features_ == expected.state_features_


def test_processes_and_one_process_agree() -> None:
    grid = {"c2": [0.01, 0.3, 3.0]}
    found = [GridSearchCV(short(), grid, cv=3, n_jobs=n).fit(X, Y).cv_results_ for n in (1, 2)]
    np.testing.assert_array_equal(found[0]["mean_test_score"], found[1]["mean_test_score"])


def test_randomised_search() -> None:
    space = {"c1": stats.expon(scale=0.5), "c2": stats.expon(scale=0.05)}
    search = RandomizedSearchCV(short(), space, n_iter=4, cv=2, random_state=1).fit(X, Y)
    assert set(search.best_params_) == {"c1", "c2"}
    assert search.best_estimator_.chain_.prior_.settings()["scale"] == 1 / search.best_params_["c1"]


def test_cross_val_predict() -> None:
    """Also where all sequences have one length, which invites NumPy to make a matrix."""
    for data, labels in [(X, Y), ([x[:1] for x in X], [y[:1] for y in Y])]:
        found = cross_val_predict(short(), data, labels, cv=3)
        assert [len(row) for row in found] == [len(row) for row in labels]
        assert {label for row in found for label in row} <= set(LABELS["plain"])


def test_cross_val_score() -> None:
    own = cross_val_score(short(), X, Y, cv=3)
    np.testing.assert_array_equal(own, cross_val_score(short(), X, Y, cv=3, scoring=scorers.flat_accuracy))
    whole = cross_val_score(short(), X, Y, cv=3, scoring=scorers.sequence_accuracy)
    assert np.all((whole >= 0) & (whole <= own))


class Upper(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Upper-cases the names of all attributes."""

    def fit(self, data: Any, labels: Any = None) -> Upper:
        del data, labels
        return self

    def transform(self, data: Any) -> list[Any]:
        return [[[name.upper() for name in item] for item in items] for items in data]


def test_pipeline() -> None:
    pipeline = Pipeline([("upper", Upper()), ("crf", short())]).fit(X, Y)
    direct = short().fit(Upper().transform(X), Y)
    assert pipeline.predict(X).tolist() == direct.predict(Upper().transform(X)).tolist()
    assert pipeline.score(X, Y) == direct.score(Upper().transform(X), Y)
    search = GridSearchCV(pipeline, {"crf__c2": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["crf__c2"] in (0.1, 1.0)
