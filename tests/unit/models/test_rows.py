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


def test_logistic_regression_becomes_a_naive_bayes_model_whose_probabilities_are_probabilities() -> None:
    X, y, _ = data()
    logistic = fc.LogisticRegression(prior=fc.Gaussian(variance=2.0)).fit(X, y)
    bayes = logistic.to_naive_bayes()
    np.testing.assert_allclose(bayes.predict_proba(X), logistic.predict_proba(X), rtol=1e-9)
    weights = {tuple(key): value for key, value in named(bayes)}
    for label in "abc":
        mass = math.fsum(math.exp(value) for (f, y_), value in weights.items() if y_ == label and f[0] == "f")
        assert mass <= 1 + 1e-12  # what is left belongs to features that were never seen
    assert math.fsum(math.exp(weights["(bias)", label]) for label in "abc") == pytest.approx(1, rel=1e-9)
    back = fc.NaiveBayes().fit(X, y)
    same = back.to_logistic().to_naive_bayes()
    np.testing.assert_allclose(same.log_likelihood(X), back.log_likelihood(X), rtol=1e-9)


def named(model: Any) -> list[tuple[tuple[str, str], float]]:
    index = model._parameters.index
    texts = list(model._parameters.encoder.attribute_text(index.attribute))
    labels = model.classes_[index.label]
    return [
        ((f.split("=")[0], str(y)), float(w)) for f, y, w in zip(texts, labels, model._parameters.weights)
    ]


def dense(table: Any, y: list[str], smoothing: float) -> tuple[Any, Any, Any]:
    """The design with a bias, the numbers of the labels, and the weights of the counts [A, Y]."""
    design, gold = (
        np.column_stack([table, np.ones(len(table))]),
        np.array(["abc".index(label) for label in y]),
    )
    rows = [table[gold == k] for k in range(3)]
    counted = np.array([[*np.log((r.sum(axis=0) + smoothing) / (r.sum() + 5 * smoothing)), 0] for r in rows])
    counted[:, -1] = [math.log(len(r) / len(table)) for r in rows]
    return design, gold, counted.T


def test_the_hybrid_maximises_its_objective() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    X, y, table = data()
    design, gold, counted = dense(table, y, 0.5)

    def loss(flat: Any) -> float:
        w = flat.reshape(counted.shape)
        scores = design @ w
        log_z = np.logaddexp.reduce(scores, axis=1)
        chosen = scores[np.arange(len(gold)), gold]
        return float((log_z - chosen).sum() + ((w - counted) ** 2).sum() / (2 * 0.3))

    best = optimize.minimize(loss, counted.ravel(), method="BFGS", options={"gtol": 1e-7})
    scores = design @ best.x.reshape(counted.shape)
    expected = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    hybrid = fc.NaiveBayes(0.5, "hybrid", coupling=0.3).fit(X, y)
    np.testing.assert_allclose(hybrid.predict_proba(X), expected, atol=2e-4)  # L-BFGS stops at 1e-5
    joint = np.logaddexp.reduce(design @ counted, axis=1)
    np.testing.assert_allclose(hybrid.log_likelihood(X), joint, rtol=1e-9)


def test_the_hybrid_lies_between_naive_bayes_and_logistic_regression(tmp_path: Any) -> None:
    X, y, _ = data()
    bayes = fc.NaiveBayes().fit(X, y)
    near = fc.NaiveBayes(objective="hybrid", coupling=1e-9).fit(X, y)
    np.testing.assert_allclose(near.predict_proba(X), bayes.predict_proba(X), atol=1e-6)
    far = fc.NaiveBayes(objective="hybrid", coupling=1e4).fit(X, y)
    free = fc.NaiveBayes(objective="conditional", prior=fc.Gaussian(variance=1e4)).fit(X, y)
    logistic = fc.LogisticRegression(prior=fc.Gaussian(variance=1e4)).fit(X, y)
    np.testing.assert_allclose(far.predict_proba(X), logistic.predict_proba(X), atol=2e-3)
    np.testing.assert_allclose(free.predict_proba(X), logistic.predict_proba(X), atol=2e-4)
    middle = fc.NaiveBayes(objective="hybrid").fit(X, y)
    likelihoods = [model.log_probability(X, y).sum() for model in (bayes, middle, far)]
    assert likelihoods == sorted(likelihoods)
    middle.save(tmp_path / "hybrid.fc")
    loaded: Any = fc.load(tmp_path / "hybrid.fc")
    np.testing.assert_array_equal(loaded.log_likelihood(X), middle.log_likelihood(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), middle.predict_proba(X))
    with pytest.raises(InputError, match="conditional model has no p"):
        free.log_likelihood(X)


def test_rows_obey_constraints() -> None:
    X, y, _ = data()
    model = fc.LogisticRegression().fit(X, y)
    assert set(model.predict(X, constraints=[fc.forced(0, "b")])) == {"b"}
    assert model.predict_proba(X, constraints=["exactly 0 a"])[:, 0].max() == 0.0


REFUSED = {
    "nothing to learn": (fc.NaiveBayes(), [], []),
    "label None": (fc.NaiveBayes(), [{"f": 1.0}], [None]),
    "1 labels for 2 rows": (fc.NaiveBayes(), [{"f": 1.0}, {"f": 2.0}], ["a"]),
    "choose one of joint": (fc.NaiveBayes(objective="both"), [{"f": 1.0}], ["a"]),
    "needs smoothing": (fc.NaiveBayes(0.0, "hybrid"), [{"f": 1.0}], ["a"]),
    "coupling=0": (fc.NaiveBayes(objective="hybrid", coupling=0), [{"f": 1.0}], ["a"]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_naive_bayes_cannot_learn_from_is_refused(message: str) -> None:
    model, X, y = REFUSED[message]
    with pytest.raises(InputError, match=message):
        model.fit(X, y)
