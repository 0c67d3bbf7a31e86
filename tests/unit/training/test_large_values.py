"""Features with large values: a price among words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import TrainingWarning
from fieldcraft.problems.curvatures import scales

LABELS = ["A", "B", "C"]


def corpus(scale: float, n: int = 60) -> tuple[list[Any], list[list[str]]]:
    """Words say something about the labels, and so does a number; synthetic."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(n):
        labels = rng.choice(LABELS, size=int(rng.integers(2, 8))).tolist()
        numbers = [float(rng.normal(LABELS.index(label), 1.0)) for label in labels]
        words = [label if rng.random() < 0.6 else "A" for label in labels]
        X.append([{"w": w, "price": scale * number} for w, number in zip(words, numbers)])
        y.append(labels)
    return X, y


def fitted(scale: float, optimiser: Any, variance: Any = 1.0) -> fc.ChainCRF:
    X, y = corpus(scale)
    return fc.ChainCRF(prior=fc.Gaussian(variance=variance), optimiser=optimiser, n_jobs=1).fit(X, y)


EXACT = fc.LBFGS(max_iterations=3000, tolerance=1e-9, objective_tolerance=-1.0)


def rescaled_optimum(scale: float) -> fc.ChainCRF:
    """Values of about 1, and for their weights the variance that the prior has in other units."""

    def variances(index: Any, names: Any) -> Any:
        del names
        texts = fc.ChainCRF().fit(*corpus(1.0)).encoder_.attribute_text(range(index.n_attributes))
        is_price = np.array([*(text == "price" for text in texts), False])[index.attribute]
        return np.where(is_price, scale**2, 1.0)

    template = fc.ChainCRF(n_jobs=1).fit(*corpus(1.0))
    return fitted(1.0, EXACT, variances(template.features_, None))


@pytest.mark.parametrize("scale", [1e6, 3e5])
def test_the_optimum_does_not_depend_on_the_unit(scale: float) -> None:
    expected, found = rescaled_optimum(scale), fitted(scale, "lbfgs")
    assert found.converged_
    assert found.objective_value_ == pytest.approx(expected.objective_value_, rel=1e-6)
    X, X_scaled = corpus(1.0)[0], corpus(scale)[0]
    assert found.predict(X_scaled).tolist() == expected.predict(X).tolist()


def test_auto_trains_on_large_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf = fitted(1e6, "auto")
    assert crf.converged_
    assert crf.optimiser_.name == "lbfgs"


def test_ordinary_values_are_left_alone() -> None:
    """Scaling is for large values alone: the steps of all other trainings stay as they are."""
    for scale, scaled in ((1.0, False), (5.0, False), (100.0, True)):
        found = scales(fc.ChainCRF()._training().share(*corpus(scale)).design)
        assert (found is not None) == scaled
        assert found is None or set(found.tolist()) == {1.0, 128.0}


@pytest.mark.parametrize(
    "optimiser",
    [
        fc.SGD(max_iterations=20),
        fc.DualAscent(max_iterations=30, patience=10**6),
        fc.Adagrad(max_iterations=20),
        fc.ConjugateGradient(),
        fc.OWLQN(),
        fc.BoundedLBFGS(),
    ],
    ids=lambda o: o.name,
)
def test_no_training_claims_to_have_converged_above_its_start(optimiser: Any) -> None:
    """A failure says so, and names the attribute."""
    start = sum(map(len, corpus(1.0)[1])) * np.log(len(LABELS))  # of weights that are all zero
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            crf = fitted(1e5, optimiser)
        except fc.FieldcraftError as error:
            assert "too large" in str(error)  # noqa: PT017
            return
    assert not (crf.converged_ and crf.objective_value_ > start)
    failures = [w for w in seen if issubclass(w.category, TrainingWarning)]
    if failures:
        assert "'price' has values up to" in str(failures[0].message)
    if not crf.converged_ and crf.stop_reason_ != "maximum number of iterations":
        assert failures


@pytest.mark.parametrize("scale", [1e3, 1e5, 1e6, 1e12])
def test_the_gap_of_dual_ascent_is_a_bound(scale: float) -> None:
    """Its estimates are differences of huge numbers here; what ends training is what was evaluated."""
    crf, least = fitted(scale, "dual_ascent"), fitted(scale, EXACT).objective_value_
    assert crf.converged_
    assert crf.objective_value_ == pytest.approx(least, rel=2e-5)
    assert all(record.objective > 0.0 for record in crf.training_log_)


def test_resumed_bit_for_bit(tmp_path: Any) -> None:
    X, y = corpus(1e6)
    settings = fc.LBFGS(max_iterations=12, tolerance=0.0, objective_tolerance=-1.0)
    whole = fc.ChainCRF(optimiser=settings).fit(X, y)
    path = tmp_path / "state.fc"
    crf = fc.ChainCRF(optimiser=settings)
    crf.fit(X, y, snapshot=path, snapshot_every=1, callbacks=[lambda r: r.iteration == 5])
    resumed = fc.ChainCRF(optimiser=settings).fit(X, y, snapshot=path, resume=True)
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
