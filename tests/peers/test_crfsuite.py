"""python-crfsuite on small corpora driven to the optimum: same features, same weights, same tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, OWLQN, ChainCRF, ElasticNet, Gaussian, Laplacian

pycrfsuite = pytest.importorskip("pycrfsuite")

from peers.reference import tag, train, weights_of  # noqa: E402

EXACT: dict[str, Any] = {
    "max_iterations": 5000,
    "tolerance": 1e-10,
    "objective_tolerance": -1.0,
    "memory": 20,
}


def corpus(seed: int, n_labels: int = 4) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, size=40)
    X, y = [], []
    for n in lengths:
        words = rng.integers(15, size=n)
        X.append([[f"w={w}", f"m={w % 4}", "b"] for w in words])
        lean = np.where(rng.random(n) < 0.7, words % n_labels, rng.integers(n_labels, size=n))
        y.append([f"L{k}" for k in lean])
    return X, y


def keyed(crf: ChainCRF) -> dict[tuple[str | None, str | None, str], float]:
    """(attribute, previous label, label) -> weight."""
    index, names = crf.features_, crf.classes_
    texts = crf.encoder_.attribute_text(range(index.n_attributes))
    return {
        (None if a < 0 else texts[a], None if x < 0 else names[x], names[y]): float(w)
        for a, x, y, w in zip(index.attribute, index.previous, index.label, crf.weights_)
    }


def theirs_keyed(path: str) -> dict[tuple[str | None, str | None, str], float]:
    states, transitions = weights_of(path)
    keys: dict[tuple[str | None, str | None, str], float] = {}
    keys.update({(a, None, y): w for (a, y), w in states.items()})
    keys.update({(None, x, y): w for (x, y), w in transitions.items()})
    return keys


FEATURES: dict[str, dict[str, Any]] = {
    "supported": {},
    "all": {"feature.possible_states": True, "feature.possible_transitions": True},
    "all_states": {"feature.possible_states": True},
    "all_transitions": {"feature.possible_transitions": True},
}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("c2", [0.05, 1.0])
def test_weights(features: str, c2: float, tmp_path: Path) -> None:
    """Printed with six decimals, so that half a millionth of the difference is rounding."""
    X, y = corpus(1)
    path = str(tmp_path / "model")
    options = {"c2": c2, "delta": 1e-14, "epsilon": 1e-12, "num_memories": 20}
    loss = train(X, y, path, **options, **FEATURES[features])
    ours = ChainCRF(prior=Gaussian(variance=1 / (2 * c2)), optimiser=LBFGS(**EXACT), features=features)
    ours.fit(X, y)
    assert ours.objective_value_ == pytest.approx(loss, abs=1e-5)
    found, expected = keyed(ours), theirs_keyed(path)
    zero = {key for key, weight in found.items() if abs(weight) < 1e-9}  # not stored by CRFsuite
    assert set(expected) <= set(found)
    assert set(found) - set(expected) <= zero
    for key, weight in expected.items():
        assert found[key] == pytest.approx(weight, abs=1e-6)
    assert ours.predict(X).tolist() == tag(path, X)


@pytest.mark.parametrize("least", [2, 4])
def test_minimum_count(least: int, tmp_path: Path) -> None:
    X, y = corpus(2)
    path = str(tmp_path / "model")
    loss = train(X, y, path, **{"delta": 1e-14, "feature.minfreq": least})
    ours = ChainCRF(prior=Gaussian(variance=0.5), optimiser=LBFGS(**EXACT), min_count=least).fit(X, y)
    assert set(keyed(ours)) == set(theirs_keyed(path))
    assert ours.objective_value_ == pytest.approx(loss, abs=1e-5)


def test_values(tmp_path: Path) -> None:
    """Real-valued features: dicts on both sides.

    Values are positive, because CRFsuite sums them into a frequency and drops features below zero.
    """
    rng = np.random.default_rng(5)
    X = [[{"a": float(rng.gamma(2.0)), "b": float(rng.gamma(1.0))} for _ in range(5)] for _ in range(30)]
    y = [["P" if item["a"] + rng.normal() > 2 else "Q" for item in items] for items in X]
    path = str(tmp_path / "model")
    loss = train(X, y, path, delta=1e-14)
    ours = ChainCRF(prior=Gaussian(variance=0.5), optimiser=LBFGS(**EXACT)).fit(X, y)
    assert ours.objective_value_ == pytest.approx(loss, abs=1e-5)
    found = keyed(ours)
    assert set(found) == set(theirs_keyed(path))
    for key, weight in theirs_keyed(path).items():
        assert found[key] == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize(("c1", "c2"), [(0.5, 0.0), (2.0, 0.0), (0.5, 0.3)])
def test_owlqn(c1: float, c2: float, tmp_path: Path) -> None:
    """L1 optima need not be unique, so the objective is compared; ours may only be lower."""
    X, y = corpus(3)
    path = str(tmp_path / "model")
    options = {"c1": c1, "c2": c2, "delta": 1e-14, "epsilon": 1e-9, "max_iterations": 5000}
    loss = train(X, y, path, **options)
    prior = ElasticNet(scale=1 / c1, variance=1 / (2 * c2)) if c2 else Laplacian(scale=1 / c1)
    ours = ChainCRF(prior=prior, optimiser=OWLQN(**EXACT)).fit(X, y)
    # CRFsuite reports the smooth part and the L1 part together; it stops a little above the minimum.
    assert ours.objective_value_ <= loss * (1 + 1e-8)
    assert ours.objective_value_ == pytest.approx(loss, rel=1e-5)
    assert np.count_nonzero(ours.weights_) == pytest.approx(len(theirs_keyed(path)), abs=4)


def test_probabilities(tmp_path: Path) -> None:
    X, y = corpus(4)
    path = str(tmp_path / "model")
    train(X, y, path, delta=1e-14)
    ours = ChainCRF(prior=Gaussian(variance=0.5), optimiser=LBFGS(**EXACT)).fit(X, y)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    for items, labels, p, value in zip(X, y, ours.predict_proba(X), ours.log_probability(X, y)):
        tagger.set(items)
        assert np.log(tagger.probability(labels)) == pytest.approx(value, abs=1e-4)
        for k, label in enumerate(ours.classes_):
            found = [tagger.marginal(label, t) for t in range(len(items))]
            np.testing.assert_allclose(p[:, k], found, atol=1e-5)
