"""Each rule that ends a training, and what is left when it does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, OWLQN, ChainCRF, FieldcraftError, Gaussian, Laplacian
from fieldcraft.optimisers.loop import Control, Loop, Record
from fieldcraft.problems.protocols import Gradient
from unit.training.corpora import Floats, draw

ENDLESS: dict[str, Any] = {
    "max_iterations": 10_000,
    "tolerance": 0.0,
    "objective_tolerance": -1.0,
}


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(7)
    return draw(rng, 4, rng.integers(1, 12, size=60), n_names=20)


class Bowl(Gradient):
    """f = sum curvature (w - centre)^2 / 2: a problem without a corpus."""

    def __init__(self, curvature: Floats, centre: Floats) -> None:
        self.curvature, self.centre = curvature, centre
        self.n_variables, self.n_jobs, self.l1 = len(centre), 1, None

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        gradient[:] = self.curvature * (weights - self.centre)
        return float(gradient @ (weights - self.centre)) / 2

    def l1_value(self, weights: Floats) -> float:
        return 0.0 * float(weights[0])


def test_gradient(corpus: tuple[list[Any], list[list[str]]]) -> None:
    settings = LBFGS(tolerance=1e-3, objective_tolerance=-1.0)
    crf = ChainCRF(optimiser=settings).fit(*corpus)
    assert (crf.stop_reason_, crf.converged_) == ("gradient small enough", True)
    limit = 1e-3 * max(1.0, float(np.linalg.norm(crf.weights_)))
    norms = [record.gradient_norm for record in crf.training_log_]
    assert norms[-1] <= limit < norms[-2]


def test_objective(corpus: tuple[list[Any], list[list[str]]]) -> None:
    settings = LBFGS(tolerance=0.0, objective_tolerance=1e-3, period=4)
    crf = ChainCRF(optimiser=settings).fit(*corpus)
    assert (crf.stop_reason_, crf.converged_) == ("objective no longer falls", True)
    values = [record.objective for record in crf.training_log_]
    falls = [(values[i - 4] - v) / abs(v) for i, v in enumerate(values) if i >= 4]
    assert falls[-1] <= 1e-3
    assert all(fall > 1e-3 for fall in falls[:-1])


@pytest.mark.parametrize("prior", [Gaussian(), Laplacian()])
@pytest.mark.parametrize("most", [0, 1, 5])
def test_iterations(corpus: tuple[list[Any], list[list[str]]], prior: Any, most: int) -> None:
    kind = LBFGS if isinstance(prior, Gaussian) else OWLQN
    crf = ChainCRF(prior=prior, optimiser=kind(**{**ENDLESS, "max_iterations": most})).fit(*corpus)
    assert crf.stop_reason_ == "maximum number of iterations"
    assert [record.iteration for record in crf.training_log_] == list(range(1, most + 1))
    assert crf.n_iter_ == most
    if not most:
        assert not crf.weights_.any()


def test_a_training_cut_short_has_not_converged(corpus: tuple[list[Any], list[list[str]]]) -> None:
    for most in (0, 1, 5):
        crf = ChainCRF(optimiser=LBFGS(**{**ENDLESS, "max_iterations": most})).fit(*corpus)
        assert not crf.converged_


def test_time(corpus: tuple[list[Any], list[list[str]]]) -> None:
    crf = ChainCRF(optimiser=LBFGS(**ENDLESS)).fit(*corpus, max_seconds=0.0)
    assert (crf.stop_reason_, crf.converged_) == ("time is up", False)
    assert crf.n_iter_ == 1


def test_last_digits(corpus: tuple[list[Any], list[list[str]]]) -> None:
    """Asked for more than float64 has, it says so instead of going round for ever."""
    crf = ChainCRF(prior=Gaussian(variance=1.0), optimiser=LBFGS(**ENDLESS)).fit(*corpus)
    assert "last digits" in crf.stop_reason_
    assert crf.training_log_[-1].gradient_norm < 1e-5
    assert crf.n_iter_ < 2000


@pytest.mark.parametrize("at", [1, 3])
def test_callbacks(corpus: tuple[list[Any], list[list[str]]], at: int) -> None:
    seen: list[Record] = []
    crf = ChainCRF(optimiser=LBFGS(**ENDLESS)).fit(
        *corpus, callbacks=[seen.append, lambda record: record.iteration == at]
    )
    assert (crf.stop_reason_, crf.converged_) == ("stopped by a callback", False)
    assert seen == crf.training_log_
    assert len(seen) == at


def test_records(corpus: tuple[list[Any], list[list[str]]]) -> None:
    crf = ChainCRF(optimiser=LBFGS(max_iterations=12)).fit(*corpus)
    log = crf.training_log_
    assert [record.iteration for record in log] == list(range(1, len(log) + 1))
    for name in ("seconds", "evaluations"):
        column = [getattr(record, name) for record in log]
        assert column == sorted(column)
    values = [record.objective for record in log]
    assert values == sorted(values, reverse=True)
    assert values[-1] == crf.objective_value_
    assert all(record.held_out is None and record.active is None for record in log)


@pytest.fixture(scope="module")
def split() -> tuple[Any, ...]:
    """X and y to learn from, X and y held out."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, 3, rng.integers(1, 8, size=60), n_names=40, per_token=6)
    return X[:30], y[:30], X[30:], y[30:]


class TestHeldOut:
    """Patience and the best weights, against scores computed by hand on each iteration's weights."""

    def trace(self, split: tuple[Any, ...], most: int) -> list[tuple[float, bytes]]:
        """Held-out accuracy and weights after 1, 2, ... iterations, each from a training of its own."""
        X, y, X_dev, y_dev = split
        rows = []
        for n in range(1, most + 1):
            crf = ChainCRF(prior=None, optimiser=LBFGS(**{**ENDLESS, "max_iterations": n})).fit(X, y)
            rows.append((crf.score(X_dev, y_dev), crf.weights_.tobytes()))
        return rows

    def test_scores(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        settings = LBFGS(**{**ENDLESS, "max_iterations": 6})
        crf = ChainCRF(prior=None, optimiser=settings, metric="token_accuracy")
        crf.fit(X, y, X_dev=X_dev, y_dev=y_dev)
        expected = [score for score, _ in self.trace(split, 6)]
        assert [record.held_out for record in crf.training_log_] == pytest.approx(expected)

    def test_patience_restores_the_best_weights(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        crf = ChainCRF(prior=None, optimiser=LBFGS(**ENDLESS), metric="token_accuracy")
        crf.fit(X, y, X_dev=X_dev, y_dev=y_dev, patience=4)
        assert crf.stop_reason_ == "held-out score no longer rises"
        scores = [record.held_out for record in crf.training_log_]
        best = scores.index(max(scores))
        assert len(scores) == best + 1 + 4
        trace = self.trace(split, len(scores))
        assert crf.weights_.tobytes() == trace[best][1]
        assert crf.weights_.tobytes() != trace[-1][1]
        assert crf.objective_value_ == crf.training_log_[best].objective
        assert crf.score(X_dev, y_dev) == pytest.approx(max(scores))

    def test_keep_best_goes_on(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        settings = LBFGS(**{**ENDLESS, "max_iterations": 15})
        crf = ChainCRF(prior=None, optimiser=settings, metric="token_accuracy")
        crf.fit(X, y, X_dev=X_dev, y_dev=y_dev, keep_best=True)
        assert crf.n_iter_ == 15
        scores = [record.held_out for record in crf.training_log_]
        assert crf.score(X_dev, y_dev) == pytest.approx(max(scores))

    def test_without_either_the_last_weights_stay(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        settings = LBFGS(**{**ENDLESS, "max_iterations": 15})
        watched = ChainCRF(prior=None, optimiser=settings).fit(X, y, X_dev=X_dev, y_dev=y_dev)
        alone = ChainCRF(prior=None, optimiser=settings).fit(X, y)
        assert watched.weights_.tobytes() == alone.weights_.tobytes()

    def test_labels_unknown_to_training_count_as_errors(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        strange = [["UNSEEN"] * len(labels) for labels in y_dev]
        crf = ChainCRF(optimiser=LBFGS(max_iterations=2), metric="token_accuracy")
        crf.fit(X, y, X_dev=X_dev, y_dev=strange)
        assert [record.held_out for record in crf.training_log_] == [0.0, 0.0]
        assert "UNSEEN" not in crf.classes_

    @pytest.mark.parametrize("wish", [{"patience": 3}, {"keep_best": True}])
    def test_held_out_data_is_needed(self, split: tuple[Any, ...], wish: dict[str, Any]) -> None:
        with pytest.raises(FieldcraftError, match="held-out set: pass X_dev and y_dev"):
            ChainCRF().fit(split[0], split[1], **wish)

    def test_patience_is_positive(self, split: tuple[Any, ...]) -> None:
        X, y, X_dev, y_dev = split
        with pytest.raises(FieldcraftError, match="patience is 0; it must be at least 1"):
            ChainCRF().fit(X, y, X_dev=X_dev, y_dev=y_dev, patience=0)


def test_an_objective_that_is_not_finite_is_an_error() -> None:
    class Broken(Bowl):
        def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
            super().value_and_gradient(weights, gradient)
            return math.nan

    run = LBFGS().start(Broken(np.ones(2), np.ones(2)), np.zeros(2))
    with pytest.raises(FieldcraftError, match="objective is nan at the starting point"):
        Loop(run, Control()).go()


def test_a_start_at_the_minimum_ends_at_once() -> None:
    run = LBFGS().start(Bowl(np.ones(3), np.full(3, 2.0)), np.full(3, 2.0))
    outcome = Loop(run, Control()).go()
    assert (outcome.reason, outcome.converged) == ("gradient small enough", True)
    assert outcome.records == []


@pytest.mark.parametrize("kind", [LBFGS, OWLQN])
def test_a_quadratic_bowl(kind: Any) -> None:
    """Curvatures over three decades."""
    curvature = np.logspace(-1.5, 1.5, 40)
    centre = np.linspace(-3, 3, 40)
    settings = kind(max_iterations=3000, tolerance=1e-11, objective_tolerance=-1.0, memory=20)
    outcome = Loop(settings.start(Bowl(curvature, centre), np.zeros(40)), Control()).go()
    np.testing.assert_allclose(outcome.weights, centre, rtol=1e-6, atol=1e-6)
