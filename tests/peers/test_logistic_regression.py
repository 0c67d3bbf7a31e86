"""Sequences of length one are logistic regression: scikit-learn must find the same weights.

three labels, all features:  loss + |w|^2 / (2 v)          = scikit-learn's with C = v
two labels, L1:              loss + (|w_P| + |w_Q|) / b    = its |u| / b with u = w_Q - w_P, C = b
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft import (
    GIS,
    IIS,
    LBFGS,
    OWLQN,
    BoundedLBFGS,
    ChainCRF,
    ConjugateGradient,
    Gaussian,
    Inequality,
    Laplacian,
)

linear = pytest.importorskip("sklearn.linear_model")

EXACT: dict[str, Any] = {"max_iterations": 5000, "tolerance": 1e-10, "objective_tolerance": 0.0}


def data(n_labels: int, *, n: int = 120, width: int = 6) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(n_labels)
    M = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.7)
    scores = M @ rng.normal(size=(width, n_labels)) + rng.gumbel(size=(n, n_labels))
    return M, [f"L{k}" for k in scores.argmax(axis=1)]


def as_table(crf: ChainCRF, width: int) -> np.ndarray:
    """[labels, columns] of node weights; the label pairs, which nothing touches, must be zero."""
    index = crf.features_
    table = np.zeros((len(crf.classes_), width))
    columns = np.array([int(name) for name in crf.encoder_.attribute_text(range(width))])
    node = index.attribute >= 0
    table[index.label[node], columns[index.attribute[node]]] = crf.weights_[node]
    assert not crf.weights_[~node].any()
    return table


@pytest.mark.parametrize("n_labels", [3, 5])
@pytest.mark.parametrize("variance", [0.1, 1.0, 20.0])
def test_gaussian_weights(n_labels: int, variance: float) -> None:
    M, y = data(n_labels)
    theirs = linear.LogisticRegression(C=variance, fit_intercept=False, tol=1e-12, max_iter=20_000)
    theirs.fit(M, y)
    ours = ChainCRF(features="all", prior=Gaussian(variance=variance), optimiser=LBFGS(**EXACT))
    ours.fit([row[None, :] for row in M], [[label] for label in y])
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_allclose(as_table(ours, 6), theirs.coef_, rtol=1e-6, atol=1e-6)
    found = np.concatenate(list(ours.predict_proba([row[None, :] for row in M])))
    np.testing.assert_allclose(found, theirs.predict_proba(M), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "optimiser",
    [
        OWLQN(**EXACT),
        BoundedLBFGS(**EXACT),
        ConjugateGradient(**EXACT),
        ConjugateGradient(**EXACT, formula="fletcher_reeves", preconditioner="diagonal"),
        GIS(**EXACT),
        IIS(**EXACT),
    ],
    ids=["owlqn", "bounded_lbfgs", "polak_ribiere", "fletcher_reeves", "gis", "iis"],
)
def test_batch_optimisers(optimiser: Any) -> None:
    """On features that are nowhere negative, so that iterative scaling has its say."""
    M, y = data(3)
    M = np.abs(M)
    theirs = linear.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=20_000).fit(M, y)
    ours = ChainCRF(features="all", prior=Gaussian(variance=2.0), optimiser=optimiser)
    ours.fit([row[None, :] for row in M], [[label] for label in y])
    np.testing.assert_allclose(as_table(ours, 6), theirs.coef_, rtol=1e-4, atol=1e-5)


def test_sample_weights() -> None:
    M, y = data(3)
    costs = np.random.default_rng(0).gamma(2.0, size=len(y))
    theirs = linear.LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=20_000)
    theirs.fit(M, y, sample_weight=costs)
    ours = ChainCRF(features="all", prior=Gaussian(variance=1.0), optimiser=LBFGS(**EXACT))
    ours.fit([row[None, :] for row in M], [[label] for label in y], sample_weight=costs)
    np.testing.assert_allclose(as_table(ours, 6), theirs.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [0.02, 0.05, 0.5, 5.0])
def test_laplacian_objective(scale: float) -> None:
    """liblinear's minimum is ours; weights are compared as differences, where they are unique."""
    M, y = data(2)
    theirs = linear.LogisticRegression(
        C=scale, l1_ratio=1.0, fit_intercept=False, solver="liblinear", tol=1e-12, max_iter=50_000
    )
    theirs.fit(M, y)
    u = theirs.coef_[0]
    margins = np.where(np.array(y) == theirs.classes_[1], 1, -1) * (M @ u)
    minimum = float(np.logaddexp(0, -margins).sum() + np.abs(u).sum() / scale)
    for prior in (Laplacian(scale=scale), Inequality(positive=1 / scale)):
        for optimiser in (OWLQN(**EXACT), BoundedLBFGS(**EXACT)):
            ours = ChainCRF(features="all", prior=prior, optimiser=optimiser)
            ours.fit([row[None, :] for row in M], [[label] for label in y])
            assert ours.objective_value_ == pytest.approx(minimum, rel=1e-6)
            table = as_table(ours, 6)
            np.testing.assert_allclose(table[1] - table[0], u, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal((table == 0).all(axis=0), u == 0)  # columns in general position
