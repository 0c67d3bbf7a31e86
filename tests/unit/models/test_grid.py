"""GridCRF: probabilities by enumeration, no directions is logistic regression, shapes, files, refusals."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

STEPS = {"right": (0, 1), "down": (1, 0), "down_right": (1, 1), "down_left": (1, -1)}


def data(n: int = 8, height: int = 2, width: int = 3) -> tuple[list[Any], list[Any]]:
    """Synthetic images of two features; labels are 3 and 7, and neighbours mostly agree."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(n):
        truth = np.where(np.indices((height, width))[1] < rng.integers(width + 1), 3, 7)
        X.append(np.stack([(truth == 7) + rng.normal(size=truth.shape), rng.normal(size=truth.shape)], 2))
        y.append(truth)
    return X, y


def by_enumeration(model: Any, image: Any) -> dict[tuple[int, ...], float]:
    """The probability of every labelling, from the weights by template, feature and labels."""
    index, Y = model.features_, len(model.classes_)
    texts = model.encoder_.attribute_text(range(model.encoder_.n_attributes))
    weight = {}
    for f, w in enumerate(model.weights_.tolist()):
        a, part = int(index.attribute[f]), index.parts[index.part[f]]
        weight[part, -1 if a < 0 else int(texts[a].rpartition(":")[2]), int(index.label[f])] = w
    height, width, _ = image.shape
    cells = list(itertools.product(range(height), range(width)))
    scores = {}
    for states in itertools.product(range(Y), repeat=len(cells)):
        at, terms = dict(zip(cells, states)), []
        for cell, s in at.items():
            terms += [x * weight["cell", k, s] for k, x in enumerate([*image[cell].tolist(), 1.0])]
        for name in model.directions:
            for (r, c), s in at.items():
                other = (r + STEPS[name][0], c + STEPS[name][1])
                if other not in at:
                    continue
                kind = s * Y + at[other] if model.tying == "full" else int(s != at[other])
                row = [*image[r, c].tolist(), *image[other].tolist(), 1.0] if model.ends else [1.0]
                part = "neighbour" if model.isotropic else name
                first = 0 if model.ends else -1
                terms += [x * weight[part, k + first, kind] for k, x in enumerate(row)]
        scores[states] = math.fsum(terms)
    total = math.fsum(map(math.exp, scores.values()))
    return {states: math.exp(s) / total for states, s in scores.items()}


@pytest.mark.parametrize(
    "settings",
    [
        {"directions": ["right", "down"], "ends": True},
        {"directions": ["right", "down", "down_right", "down_left"], "tying": "same"},
        {"directions": ["right", "down_left"], "tying": "same", "isotropic": True},
    ],
)
def test_probabilities_are_those_of_enumeration(settings: dict[str, Any]) -> None:
    X, y = data()
    model = fc.GridCRF(**settings, optimiser=fc.LBFGS(max_iterations=6)).fit(X, y)
    p, found, log_p = model.predict_proba(X), model.predict(X), model.log_probability(X, y)
    assert model.classes_.tolist() == ["3", "7"]
    for i, image in enumerate(X[:4]):
        wanted = by_enumeration(model, image)
        marginal = np.zeros((6, 2))
        for states, mass in wanted.items():
            marginal[np.arange(6), states] += mass
        np.testing.assert_allclose(p[i], marginal.reshape(2, 3, 2), rtol=1e-9)
        best = max(wanted, key=lambda states: wanted[states])
        assert found[i].tolist() == np.array([3, 7])[list(best)].reshape(2, 3).tolist()
        gold = tuple((y[i].ravel() == 7).astype(int).tolist())
        assert log_p[i] == pytest.approx(math.log(wanted[gold]), rel=1e-9)


def test_no_directions_is_logistic_regression() -> None:
    X, y = data()
    exact = fc.LBFGS(tolerance=1e-11, objective_tolerance=0.0)
    model = fc.GridCRF((), prior=fc.Gaussian(variance=1.0), optimiser=exact).fit(X, y)
    from sklearn.linear_model import LogisticRegression

    rows = np.concatenate([np.concatenate([x, np.ones((2, 3, 1))], 2).reshape(6, -1) for x in X])
    labels = np.concatenate([truth.ravel() for truth in y])
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-11, max_iter=10_000).fit(rows, labels)
    ours = np.concatenate([p.reshape(6, -1) for p in model.predict_proba(X)])
    np.testing.assert_allclose(ours, peer.predict_proba(rows), atol=1e-5)


def test_sizes_unknown_cells_files_and_held_out_images(tmp_path: Path) -> None:
    X, y = data()
    X[0], y[0] = X[0][:, :2], y[0][:, :2]
    y[1] = np.where(np.random.default_rng(2).random(y[1].shape) < 0.5, -1, y[1])
    model = fc.GridCRF(tying="same").fit(X, y, X_dev=X[2:], y_dev=y[2:])
    assert model.objective_.name == "marginal_likelihood"
    assert model.training_log_[-1].held_out == pytest.approx(model.score(X[2:], y[2:]))
    model.save(tmp_path / "grid.fc")
    for other in (fc.load(tmp_path / "grid.fc"), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, fc.GridCRF)
        assert [a.tolist() for a in other.predict(X)] == [a.tolist() for a in model.predict(X)]
    flat = fc.GridCRF(labels=[7, 3]).fit([x[:, :, 0] for x in X], y)
    assert flat.classes_.tolist() == ["7", "3"]
    assert flat.predict([X[0][:, :, 0]])[0].shape == (2, 2)
    assert model.predict([]) == []


def test_large_images_are_cut_or_propagated() -> None:
    rng = np.random.default_rng(0)
    truth = (np.indices((30, 30))[0] > 12).astype(int)
    noisy = truth + rng.normal(scale=0.8, size=truth.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fc.GridCRF(tying="same", isotropic=True).fit([noisy], [truth])
        answer = model.decode([noisy])[0]
        assert answer.method == "cuts"
        assert answer.optimal
        assert model.score([noisy], [truth]) > 0.95
        apart = fc.GridCRF(tying="full", labels=[0, 1, 2]).fit([noisy], [truth])
        assert apart.infer([noisy])[0].method == "propagation"
    with pytest.warns(UserWarning, match="are not exact"):
        model.predict_proba([noisy])


def test_refusals() -> None:
    X, y = data(3)
    model = fc.GridCRF().fit(X, y)
    for refused, why in (
        (lambda: fc.GridCRF().fit(X, y[:2]), "3 images, labels of 2"),
        (lambda: fc.GridCRF().fit(X, [truth[:1] for truth in y]), "image 0 is 2 x 3, its labels 1 x 3"),
        (lambda: fc.GridCRF().fit(X, [truth.astype(float) for truth in y]), "whole numbers"),
        (lambda: fc.GridCRF(["left"]).fit(X, y), "directions="),
        (lambda: fc.GridCRF(tying="loose").fit(X, y), "tying='loose'"),
        (lambda: fc.GridCRF(labels=[3]).fit(X, y), "y has the label 7"),
        (lambda: model.predict([X[0][:, :, :1]]), "image 0 has 1 features for each cell, the others 2"),
        (lambda: model.predict(X[0][:, :, 0]), "give a list of images"),
        (lambda: model.predict([np.full((2, 2, 2), np.nan)]), "nan or infinite"),
        (
            lambda: model.score(X, [truth + 1 for truth in y]),
            "is none of 3, 7",
        ),
        (lambda: fc.GridCRF().fit(X, [np.full((2, 3), -1)] * 3), "no instance has a known label"),
    ):
        with pytest.raises(InputError, match=why):
            refused()
