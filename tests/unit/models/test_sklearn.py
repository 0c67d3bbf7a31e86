"""scikit-learn's tools work on ChainCRF: clone, search, cross-validation, pipelines."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, Gaussian
from unit.models.small import LABELS, corpus

sklearn = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

X, Y = corpus(LABELS["plain"], n=23)
SHORT = LBFGS(max_iterations=5)


def test_parameters_are_the_constructors() -> None:
    crf = ChainCRF(prior=Gaussian(variance=3.0), min_count=2)
    params = crf.get_params()
    assert params["min_count"] == 2
    assert ChainCRF(**params).get_params() == params
    assert crf.set_params(min_count=4) is crf
    assert crf.min_count == 4
    assert repr(ChainCRF(min_count=2)) == "ChainCRF(min_count=2)"


def test_clone() -> None:
    crf = ChainCRF(prior=Gaussian(variance=3.0), optimiser=SHORT).fit(X, Y)
    copy = clone(crf)
    assert not hasattr(copy, "weights_")
    assert copy.get_params() == crf.get_params()
    assert copy.fit(X, Y).weights_.tobytes() == crf.weights_.tobytes()


def test_no_classifier_tag() -> None:
    assert not is_classifier(ChainCRF())


def test_check_is_fitted() -> None:
    with pytest.raises(NotFittedError):
        check_is_fitted(ChainCRF())
    check_is_fitted(ChainCRF(optimiser=SHORT).fit(X, Y))


def test_cross_val_predict() -> None:
    """Also where all sequences have one length, which invites NumPy to make a matrix."""
    for data, labels in [(X, Y), ([x[:1] for x in X], [y[:1] for y in Y])]:
        found = cross_val_predict(ChainCRF(optimiser=SHORT), data, labels, cv=3)
        assert [len(row) for row in found] == [len(row) for row in labels]
        assert {label for row in found for label in row} <= set(LABELS["plain"])


def test_cross_val_score() -> None:
    scores = cross_val_score(ChainCRF(optimiser=SHORT), X, Y, cv=3)
    assert scores.shape == (3,)
    assert np.all((scores >= 0) & (scores <= 1))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(n_jobs: int | None) -> None:
    grid = {"prior": [Gaussian(variance=0.01), Gaussian(variance=10.0)], "min_count": [1, 2]}
    search = GridSearchCV(ChainCRF(optimiser=SHORT), grid, cv=2, n_jobs=n_jobs).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    expected = ChainCRF(optimiser=SHORT, **search.best_params_).fit(X, Y)
    assert search.predict(X).tolist() == expected.predict(X).tolist()


class Lower(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Lower-cases the names of all attributes."""

    def fit(self, data: Any, labels: Any = None) -> Lower:
        del data, labels
        return self

    def transform(self, data: Any) -> list[Any]:
        return [[[name.lower() for name in item] for item in items] for items in data]


def test_pipeline() -> None:
    pipeline = Pipeline([("lower", Lower()), ("crf", ChainCRF(optimiser=SHORT))]).fit(X, Y)
    direct = ChainCRF(optimiser=SHORT).fit(Lower().transform(X), Y)
    assert pipeline.predict(X).tolist() == direct.predict(Lower().transform(X)).tolist()
    assert pipeline.score(X, Y) == direct.score(Lower().transform(X), Y)
    pipeline.set_params(crf__min_count=2)
    assert pipeline.named_steps["crf"].min_count == 2


def test_scikit_learn_is_not_imported() -> None:
    code = (
        "import sys, fieldcraft as fc\n"
        "crf = fc.ChainCRF().fit([[['a'], ['b']]], [['P', 'Q']]); crf.predict([[['a']]])\n"
        "print([name for name in ('sklearn', 'scipy', 'pandas', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
