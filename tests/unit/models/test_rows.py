"""Logistic regression and naive Bayes: against scikit-learn, against each other, in files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError


def data(n: int = 80, seed: int = 0) -> tuple[list[dict[str, float]], list[str], Any]:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (n, 5)).astype(float)
    y = [("a", "b", "c")[int(k)] for k in (table[:, 0] + rng.integers(0, 2, n)) % 3]
    return [{f"f{j}": v for j, v in enumerate(row)} for row in table], y, table


def test_naive_bayes_is_that_of_counts() -> None:
    X, y, table = data()
    model = fc.NaiveBayes(smoothing=0.7).fit(X, y)
    scores = np.empty((len(X), 3))
    for k, name in enumerate("abc"):
        rows = table[[label == name for label in y]]
        share = (rows.sum(axis=0) + 0.7) / (rows.sum() + 0.7 * 5)
        scores[:, k] = math.log(len(rows) / len(X)) + table @ np.log(share)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_allclose(model.to_logistic().predict_proba(X), expected, rtol=1e-9)
    assert model.predict(X).tolist() == [("a", "b", "c")[k] for k in expected.argmax(axis=1)]


def test_logistic_regression_maximises_the_likelihood_of_the_weights_of_naive_bayes() -> None:
    X, y, _ = data()
    bayes, logistic = (
        fc.NaiveBayes().fit(X, y),
        fc.LogisticRegression(prior=fc.Gaussian(variance=1e6)).fit(X, y),
    )
    assert logistic.log_probability(X, y).sum() >= bayes.log_probability(X, y).sum()


def test_scikit_learn_finds_the_same_optimum() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y, table = data()
    ours = fc.LogisticRegression(prior=fc.Gaussian(variance=2.0), n_jobs=1).fit(X, y)
    design = np.column_stack([table, np.ones(len(X))])  # the bias is penalised here too
    theirs = linear_model.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(
        design, y
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(design), atol=2e-4)


@pytest.mark.parametrize("kind", [fc.NaiveBayes, fc.LogisticRegression])
def test_files_and_answers(kind: Any, tmp_path: Any) -> None:
    X, y, _ = data()
    model = kind().fit(X, y)
    model.save(tmp_path / "model.fc")
    loaded: Any = fc.load(tmp_path / "model.fc")
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert model.predict(X).shape == (len(X),)
    assert 0.3 < model.score(X, y) <= 1.0
    with pytest.raises(InputError, match="row 0 is a str"):
        model.predict(["f0"])


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="must not be negative"):
        fc.NaiveBayes().fit([{"f": -1.0}], ["a"])
