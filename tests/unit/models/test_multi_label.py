"""MultiLabelCRF: probabilities by enumeration, independent without pairs, files, refusals."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import fieldcraft as fc
from fieldcraft.errors import InputError


def data(n: int = 60) -> tuple[Any, Any]:
    """Synthetic: the first label follows a feature, the second nearly always the first, the third nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    first = X[:, 0] + rng.normal(scale=1.0, size=n) > 0
    second = np.where(rng.random(n) < 0.1, ~first, first)
    return X, np.stack([first, second, rng.random(n) < 0.3], 1).astype(int)


def test_probabilities_are_those_of_enumeration() -> None:
    X, Y = data()
    model = fc.MultiLabelCRF().fit(X, Y)
    unary = model.weights_[:9].reshape(3, 3)  # [label, feature], a constant last
    pair = dict(zip(itertools.combinations(range(3), 2), model.weights_[9:]))
    assert len(model.weights_) == 12
    assert model.n_labels_ == 3
    p, found, log_p = model.predict_proba(X), model.predict(X), model.log_probability(X, Y)
    for i, x in enumerate(X[:10].tolist()):
        odds = {}
        for y in itertools.product((0, 1), repeat=3):
            terms = [y[label] * unary[label] @ [*x, 1.0] for label in range(3)]
            odds[y] = math.exp(math.fsum(terms) + sum(w for (a, b), w in pair.items() if y[a] and y[b]))
        total = math.fsum(odds.values())
        for label in range(3):
            wanted = math.fsum(o for y, o in odds.items() if y[label]) / total
            assert p[i, label] == pytest.approx(wanted, rel=1e-9)
        assert tuple(found[i]) == max(odds, key=lambda y: odds[y])
        assert log_p[i] == pytest.approx(math.log(odds[tuple(Y[i].tolist())] / total), rel=1e-9)


def test_without_pairs_each_label_is_a_logistic_regression() -> None:
    X, Y = data()
    exact = fc.LBFGS(tolerance=1e-10, objective_tolerance=0.0)
    settings: dict[str, Any] = {"prior": fc.Gaussian(variance=1.0), "optimiser": exact}
    whole = fc.MultiLabelCRF("none", **settings).fit(sparse.csr_matrix(X), Y)
    for label in range(3):
        one = fc.MultiLabelCRF("none", **settings).fit(X, Y[:, [label]])
        np.testing.assert_allclose(whole.predict_proba(X)[:, label], one.predict_proba(X)[:, 0], atol=1e-6)
    from sklearn.linear_model import LogisticRegression

    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    peer.fit(np.concatenate([X, np.ones((len(X), 1))], axis=1), Y[:, 0])
    np.testing.assert_allclose(whole.weights_[:3], peer.coef_[0], atol=1e-5)


def test_pairs_files_missing_labels_and_held_out_rows(tmp_path: Path) -> None:
    X, Y = data()
    model = fc.MultiLabelCRF([[0, 1]]).fit(X, Y, X_dev=X, y_dev=Y)
    assert model.training_log_[-1].held_out == pytest.approx((model.predict(X) == Y).mean())
    assert model.score(X, Y) == pytest.approx((model.predict(X) == Y).all(axis=1).mean())
    model.save(tmp_path / "labels.fc")
    for other in (fc.load(tmp_path / "labels.fc"), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, fc.MultiLabelCRF)
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    hidden = np.where(np.random.default_rng(1).random(Y.shape) < 0.3, -1, Y)
    assert fc.MultiLabelCRF().fit(X, hidden).objective_.name == "marginal_likelihood"
    assert model.predict(X[:0]).shape == (0, 3)


def test_refusals() -> None:
    X, Y = data()
    model = fc.MultiLabelCRF().fit(X, Y)
    for refused, why in (
        (lambda: fc.MultiLabelCRF().fit(X, Y[:10]), r"Y has shape \(10, 3\); \(60, 3\) is needed"),
        (lambda: fc.MultiLabelCRF().fit(X, Y + 1), "1, 0 or -1"),
        (lambda: fc.MultiLabelCRF().fit(X, Y[:, 0]), "1, 0 or -1"),
        (lambda: fc.MultiLabelCRF([[0, 5]]).fit(X, Y), r"\(0, 5\) is no pair of the 3 labels"),
        (lambda: fc.MultiLabelCRF("some").fit(X, Y), "pairs='some'"),
        (lambda: model.predict(X[:, :1]), "features have 1 columns, in training 2"),
    ):
        with pytest.raises(InputError, match=why):
            refused()
