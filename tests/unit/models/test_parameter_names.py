"""Parameters as people write them: other spellings, settings of objects, cross-validation."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import fieldcraft as fc
from fieldcraft.errors import InputError, UnknownParameterError

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"], ["w=x"]], [["w=the"]], [["w=dog"], ["w=cat"]]] * 3
Y = [["D", "N"], ["D", "N", "X"], ["D"], ["N", "N"]] * 3
SPANS = fc.Corpus.from_columns(
    {"word": [["in", "Rome"], ["to", "New", "York"]] * 3}, [["O", "B-LOC"], ["O", "B-LOC", "I-LOC"]] * 3
)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"optimizer": "lbfgs"}, "write optimiser='lbfgs'"),
        ({"c1": 0.1}, "write prior=fc.Laplacian(scale=10)"),
        ({"c2": 1}, "write prior=fc.Gaussian(variance=0.5)"),
        ({"c1": 1.0, "c2": 0.1}, "write prior=fc.ElasticNet(scale=1, variance=5)"),
        ({"max_iterations": 5}, "write optimiser=fc.LBFGS(max_iterations=5)"),
        ({"all_possible_transitions": True}, "write features='all_transitions'"),
        ({"frobnicate": 1}, "has no parameter 'frobnicate'; it has templates"),
    ],
    ids=str,
)
def test_unknown_names_are_answered_with_the_right_one(given: dict[str, Any], remedy: str) -> None:
    for kind in (fc.ChainCRF, fc.SegmentCRF):
        with pytest.raises(TypeError) as raised:
            kind(**given)
        assert isinstance(raised.value, UnknownParameterError)
        assert remedy in str(raised.value)


def test_signatures_stay_explicit() -> None:
    assert list(inspect.signature(fc.ChainCRF).parameters)[:3] == ["templates", "prior", "optimiser"]
    assert inspect.signature(fc.ChainCRF).parameters["optimiser"].default == "auto"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"optimiser": "lbgfs"}, "did you mean 'lbfgs'?"),
        ({"optimiser": "L-BFGS"}, "did you mean 'lbfgs'?"),
        ({"prior": "gausian"}, "did you mean 'gaussian'?"),
        ({"objective": "likelyhood"}, "did you mean 'likelihood'?"),
        ({"features": "suported"}, "did you mean 'supported'?"),
        ({"metric": "spanf"}, "did you mean 'span_f'?"),
        ({"templates": "entitis"}, "did you mean the set of templates 'entities'?"),
    ],
    ids=str,
)
def test_misspelt_values(given: dict[str, Any], meant: str) -> None:
    with pytest.raises(InputError) as raised:
        fc.ChainCRF(**given).fit(SPANS)
    assert meant in str(raised.value)


def test_settings_of_objects_and_of_names() -> None:
    crf = fc.ChainCRF(prior="gaussian", optimiser=fc.LBFGS(memory=9))
    crf.set_params(optimiser__max_iterations=7, prior__variance=3)
    assert crf.prior == fc.Gaussian(variance=3)
    assert crf.optimiser == fc.LBFGS(memory=9, max_iterations=7)
    assert clone(crf).get_params()["prior"] == fc.Gaussian(variance=3)
    assert fc.ChainCRF().set_params(prior__variance=2, prior=fc.Gaussian()).prior == fc.Gaussian(variance=2)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"prior__variance": 1}, "pass prior=fc.Gaussian() first"),
        ({"optimiser__max_iterations": 3}, "pass optimiser=fc.LBFGS() first"),
        ({"prior": fc.Gaussian(), "prior__varance": 2}, "Gaussian has no 'varance'; it has variance, mean"),
    ],
    ids=str,
)
def test_settings_that_are_not_there(given: dict[str, Any], remedy: str) -> None:
    with pytest.raises(InputError) as raised:
        fc.ChainCRF().set_params(**given)
    assert remedy in str(raised.value)


def test_grid_search_over_settings() -> None:
    grid = {"prior__variance": [0.01, 10.0], "optimiser__max_iterations": [20]}
    search = GridSearchCV(fc.ChainCRF(prior=fc.Gaussian(), optimiser=fc.LBFGS()), grid, cv=3).fit(X, Y)
    tried = [row["prior__variance"] for row in search.cv_results_["params"]]
    assert tried == [0.01, 10.0]
    assert search.best_estimator_.prior == fc.Gaussian(variance=search.best_params_["prior__variance"])
    assert search.best_estimator_.optimiser_.max_iterations == 20


def test_score_is_the_metric() -> None:
    crf = fc.ChainCRF().fit(SPANS)
    wrong = [["O", "B-LOC"], ["O", "B-LOC", "O"]] * 3
    assert crf.score(SPANS, wrong) == fc.metrics.span_scores(wrong, list(crf.predict(SPANS))).f == 0.5
    assert crf.set_params(metric="token_accuracy").score(SPANS, wrong) == 0.8
    assert crf.scored(SPANS).score(metric="token_accuracy") == crf.score(SPANS) == 1.0
    assert fc.ChainCRF().fit(X, Y).score(X, Y) == 1.0


def test_cross_validation_of_a_corpus() -> None:
    rows = cross_val_predict(fc.ChainCRF(), SPANS, cv=3, method="predict_proba")
    assert [row.shape for row in rows] == [(2, 3), (3, 3)] * 3
    assert all(np.allclose(row.sum(axis=1), 1.0) for row in rows)
    assert cross_val_score(fc.ChainCRF(), SPANS, cv=3).tolist() == [1.0, 1.0, 1.0]
