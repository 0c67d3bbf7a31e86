"""Dual methods for the margin against the enumerated programme, and for the likelihood against L-BFGS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.objectives import Likelihood
from fieldcraft.optimisers.exponentiated_gradient import ExponentiatedGradient
from fieldcraft.optimisers.lbfgs import LBFGS
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.problems import ChainProblem
from oracles import structured_margin
from unit.training.corpora import chain_of, problem_for
from unit.training.margin_cases import METHODS, STATES, begun, case, least, programme

CASES = ("plain", "valued", "everything")


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_agrees_with_itself(name: str) -> None:
    """One slack to a tiny gap encloses the programme's minimum: both are right to 1e-8."""
    given = case(name)
    run = begun(replace(METHODS["one slack"], gap=1e-9), given)
    Loop(run, Control()).go()
    assert run.dual - 1e-8 <= least(given) <= run.value + 1e-8


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_the_optimum_is_reached_to_the_gap_that_is_claimed(method: str, name: str) -> None:
    given, optimum = case(name), least(case(name))
    run = begun(METHODS[method], given)
    outcome = Loop(run, Control()).go()
    assert outcome.reason == "duality gap small enough"
    assert outcome.converged
    assert 0 <= run.gap <= METHODS[method].gap * run.value
    assert run.dual <= optimum + 1e-8
    assert run.value >= optimum - 1e-8
    assert outcome.objective == run.value


@pytest.mark.parametrize("method", METHODS)
def test_the_objective_is_that_of_the_weights(method: str) -> None:
    given = case("everything")
    corpus, c, mean, precision, mask = programme(given)
    run = begun(METHODS[method], given)
    for _ in range(3):
        run.step()
        assert not run.weights[mask == 0].any()
        value = structured_margin.objective(run.weights, corpus, c, mean, precision)
        assert value == pytest.approx(run.objective(), rel=1e-12)


@pytest.mark.parametrize("name", ["plain", "valued"])
def test_exponentiated_gradient_reaches_the_likelihoods_optimum(name: str) -> None:
    given = case(name)
    exact = LBFGS(tolerance=1e-9, objective_tolerance=0.0)
    start = np.zeros(len(given.design.index))
    expected = Loop(
        exact.start(ChainProblem(chain_of(STATES), given.design, given.prior), start), Control()
    ).go()
    method = ExponentiatedGradient(gap=1e-8)
    problem = problem_for(method, given.design, STATES, given.prior, objective=Likelihood())
    run = method.start(problem, start)
    Loop(run, Control()).go()
    assert run.dual <= expected.objective * (1 + 1e-12)
    assert run.value == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(run.weights, expected.weights, atol=1e-3)
