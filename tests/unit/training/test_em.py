"""EM: it never raises the loss, and ends where the gradient method ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import Design, build_design
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import encode_partial
from fieldcraft.objectives import MarginalLikelihood
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.priors import ElasticNet, Gaussian, Prior
from fieldcraft.problems import ChainProblem
from unit.training.corpora import chain_of, draw

LABELS = [f"L{k:03d}" for k in range(4)]


def partly(rng: np.random.Generator, y: list[list[str]], *, unknown: float, sets: float) -> list[list[Any]]:
    """Some labels forgotten, some joined by another candidate."""

    def one(label: str) -> Any:
        u = rng.random()
        if u < unknown:
            return None
        return {label, LABELS[rng.integers(4)]} if u < unknown + sets else label

    return [[one(label) for label in labels] for labels in y]


def corpus(*, unknown: float = 0.3, sets: float = 0.2) -> tuple[list[Any], list[list[Any]]]:
    rng = np.random.default_rng(4)
    X, y = draw(rng, 4, rng.integers(1, 9, size=60).tolist(), n_names=9)
    return X, partly(rng, y, unknown=unknown, sets=sets)


def design_of(X: list[Any], y: list[list[Any]]) -> Design:
    encoder = FreeFeatures()
    encoded = encoder.encode(X, grow=True)
    return build_design(encoder, encoded, encode_partial(y, LABELS, encoded.offsets), 4, features="all")


def problem_of(design: Design, prior: Prior, *, n_jobs: int = 1) -> ChainProblem:
    return ChainProblem(chain_of(4), design, prior, objective=MarginalLikelihood(), n_jobs=n_jobs)


@pytest.mark.parametrize("steps", [1, 3, 10])
@pytest.mark.parametrize("prior", [Gaussian(variance=2.0), ElasticNet(scale=4.0, variance=2.0)])
def test_the_loss_never_rises(prior: Prior, steps: int) -> None:
    """Each record against the marginal likelihood evaluated by itself, and against the one before."""
    design = design_of(*corpus())
    judge, gradient = problem_of(design, prior), np.empty(len(design.index))
    problem = problem_of(design, prior)
    run = fc.EM(steps=steps).start(problem, np.zeros(len(design.index)))
    run.begin()
    before = run.objective()
    for _ in range(15):
        if not run.step():
            break
        assert run.objective() <= before + 1e-9 * abs(before)
        own = judge.value_and_gradient(run.weights, gradient) + judge.l1_value(run.weights)
        assert run.objective() == pytest.approx(own, rel=1e-11)
        before = run.objective()


@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.6])
def test_it_ends_at_a_stationary_point_of_the_gradient_method(unknown: float) -> None:
    design = design_of(*corpus(unknown=unknown))
    prior = Gaussian(variance=1.0)
    settings = fc.EM(tolerance=1e-6, objective_tolerance=0.0)
    end = Loop(settings.start(problem_of(design, prior), np.zeros(len(design.index))), Control()).go()
    assert end.converged
    gradient = np.empty(len(design.index))
    problem_of(design, prior).value_and_gradient(end.weights, gradient)
    assert np.linalg.norm(gradient) <= 1.1e-6 * max(1.0, np.linalg.norm(end.weights))


def test_both_methods_meet_where_little_is_missing() -> None:
    X, y = corpus(unknown=0.1, sets=0.1)
    told: dict[str, Any] = {"objective": "marginal_likelihood", "prior": fc.Gaussian(variance=1.0)}
    tight = {"tolerance": 1e-7, "objective_tolerance": 0.0}
    direct = fc.ChainCRF(optimiser=fc.LBFGS(**tight), **told).fit(X, y)
    em = fc.ChainCRF(optimiser=fc.EM(**tight), **told).fit(X, y)
    assert em.objective_value_ == pytest.approx(direct.objective_value_, rel=1e-10)
    np.testing.assert_allclose(em.weights_, direct.weights_, rtol=1e-4, atol=1e-5)


def test_both_methods_meet_under_absolute_values() -> None:
    X, y = corpus(unknown=0.1, sets=0.1)
    told: dict[str, Any] = {"objective": "marginal_likelihood", "prior": fc.Laplacian(scale=1.0)}
    direct = fc.ChainCRF(optimiser=fc.OWLQN(objective_tolerance=1e-9), **told).fit(X, y)
    em = fc.ChainCRF(optimiser=fc.EM(objective_tolerance=1e-9), **told).fit(X, y)
    assert em.objective_value_ == pytest.approx(direct.objective_value_, rel=1e-6)


def test_threads_and_a_resumed_run_agree_to_the_last_bit() -> None:
    design, prior = design_of(*corpus()), Gaussian(variance=2.0)
    start = np.zeros(len(design.index))
    alone, two = (fc.EM(steps=3).start(problem_of(design, prior, n_jobs=n), start) for n in (1, 2))
    for run in (alone, two):
        run.begin()
        for _ in range(3):
            run.step()
    state = {name: np.copy(part) for name, part in alone.state().items()}
    resumed = fc.EM(steps=3).start(problem_of(design, prior), start)
    resumed.restore(state)
    for run in (alone, two, resumed):
        run.step()
    assert np.array_equal(alone.weights, two.weights)
    assert np.array_equal(alone.weights, resumed.weights)
    assert alone.value == resumed.value == two.value


def test_with_every_label_known_it_is_maximum_likelihood() -> None:
    rng = np.random.default_rng(4)
    X, y = draw(rng, 4, [5, 3, 8, 1, 6], n_names=9)
    prior = fc.Gaussian(variance=1.0)
    em = fc.ChainCRF(optimiser=fc.EM(tolerance=1e-8, objective_tolerance=0), prior=prior).fit(X, y)
    ml = fc.ChainCRF(optimiser=fc.LBFGS(tolerance=1e-8, objective_tolerance=0), prior=prior).fit(X, y)
    assert em.objective_.name == "marginal_likelihood"
    np.testing.assert_allclose(em.weights_, ml.weights_, rtol=1e-5, atol=1e-6)
