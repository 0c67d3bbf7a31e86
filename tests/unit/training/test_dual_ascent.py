"""Dual ascent for the likelihood: what its passes keep, where it ends, and when L-BFGS takes over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, DualAscent, Gaussian, _core
from fieldcraft.errors import InputError
from fieldcraft.objectives import Likelihood
from fieldcraft.optimisers.dual_ascent import EXACT_EVERY, DualAscentRun
from fieldcraft.optimisers.loop import Control, Loop, Outcome
from fieldcraft.problems import ChainProblem
from unit.training.corpora import chain_of, design_of, draw, problem_for
from unit.training.margin_cases import STATES, Case, Floats, case, implied

CASES = ("plain", "valued", "everything")
PATIENT = DualAscent(gap=1e-6, patience=10**6, max_iterations=2000)
ROUNDED = 1e-8  # marginals are stored in 32 bits: to this share of the objective the dual is a bound


def likelihood(name: str) -> Case:
    """A case without what only the margin has; the prior is strong enough for a gap that closes quickly."""
    given = case(name)
    options = {key: value for key, value in given.options.items() if key in ("sequence_weights", "mask")}
    prior = Gaussian(variance=np.multiply(given.prior.variance, 0.1), mean=given.prior.mean)
    return given._replace(options=options, prior=prior)


def begun(given: Case, method: DualAscent = PATIENT, *, n_jobs: int = 1, start: Floats | None = None) -> Any:
    problem = problem_for(
        method, given.design, STATES, given.prior, objective=Likelihood(), n_jobs=n_jobs, **given.options
    )
    run = method.start(problem, np.zeros(problem.n_variables) if start is None else start)
    run.begin()
    return run


def exact(given: Case) -> Outcome:
    """The optimum by L-BFGS."""
    settings = LBFGS(max_iterations=5000, tolerance=1e-10, objective_tolerance=0.0)
    problem = ChainProblem(chain_of(STATES), given.design, given.prior, **given.options)
    return Loop(settings.start(problem, np.zeros(problem.n_variables)), Control()).go()


@pytest.mark.parametrize("name", CASES)
def test_the_weights_are_always_those_of_the_stored_marginals(name: str) -> None:
    """Although they are never summed anew, but moved by each step."""
    given = likelihood(name)
    run = begun(given)
    while run.step():
        node, pairs = (np.asarray(part, np.float64) for part in run.native.state()[:2])
        width = node.size // len(given.design.gold)  # rows are padded
        shown = node.reshape(-1, width)[:, :STATES], pairs.reshape(-1, STATES, width)[:, :, :STATES]
        np.testing.assert_allclose(run.weights, implied(given, *shown), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(shown[0].sum(1), 1.0, atol=1e-5)  # stored as 32 bits


@pytest.mark.parametrize("name", CASES)
def test_it_ends_where_l_bfgs_does(name: str) -> None:
    given = likelihood(name)
    expected, run = exact(given), begun(given)
    outcome = Loop(run, Control()).go()
    assert (outcome.reason, outcome.converged, run.later) == ("duality gap small enough", True, None)
    assert 0 <= run.gap <= 1e-6 * run.value
    assert run.dual <= expected.objective * (1 + ROUNDED)
    assert run.value == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose(run.weights, expected.weights, atol=1e-2)


@pytest.mark.parametrize("name", CASES)
def test_the_dual_is_a_lower_bound_at_any_time(name: str) -> None:
    given = likelihood(name)
    least, run = exact(given).objective, begun(given)
    gradient = np.empty_like(run.weights)
    while run.step():
        assert run.dual <= least * (1 + ROUNDED)
        value = run.problem.value_and_gradient(run.weights, gradient)
        assert value >= least * (1 - 1e-12)
        if run.exact:
            assert value == run.value
    assert run.iteration > 3


def test_what_a_record_shows_is_exact_from_time_to_time() -> None:
    """Between, the objective is an estimate and the gradient unknown."""
    run = begun(likelihood("valued"), replace(PATIENT, gap=1e-15))
    for _ in range(EXACT_EVERY):
        run.step()
        assert run.later is None
        assert run.exact or np.isnan(run.gradient_norm())
        assert run.exact or run.iteration % EXACT_EVERY
    assert run.exact


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(3)
    X, y = draw(rng, STATES, rng.integers(0, 60, 700), n_names=200, values=True)
    given = Case(design_of(X, y, STATES), {}, Gaussian(variance=0.5))
    runs = [begun(given, n_jobs=jobs) for jobs in (1, 2, 3)]
    for _ in range(4):
        for run in runs:
            run.step()
        for other in runs[1:]:
            assert other.weights.tobytes() == runs[0].weights.tobytes()
            assert (other.value, other.dual) == (runs[0].value, runs[0].dual)


def test_l_bfgs_takes_over_where_the_gap_closes_slowly() -> None:
    given = likelihood("valued")._replace(prior=Gaussian(variance=100.0))
    expected, run = exact(given), begun(given, DualAscent(gap=1e-9, patience=1))
    outcome = Loop(run, Control()).go()
    assert run.later is not None
    assert outcome.converged
    assert outcome.reason != "duality gap small enough"
    assert outcome.objective == pytest.approx(expected.objective, rel=1e-5)
    numbers = [record.iteration for record in outcome.records]
    assert numbers == list(range(1, len(numbers) + 1))
    gaps = [record.gap is not None for record in outcome.records]
    assert gaps == sorted(gaps, reverse=True)  # known until then
    assert 0 < sum(gaps) < len(gaps)


def test_from_weights_of_no_marginals_it_is_l_bfgs() -> None:
    """Warm starts and partial_fit: nothing is lost."""
    given = likelihood("plain")
    start = np.full(len(given.design.index), 0.1)
    assert not isinstance(begun(given, start=start), DualAscentRun)
    assert isinstance(begun(given), DualAscentRun)


def test_a_warm_start_stays_at_the_optimum() -> None:
    X, y = draw(np.random.default_rng(0), STATES, [4, 3, 5, 6], n_names=6)
    crf = ChainCRF(prior=Gaussian(variance=0.5), optimiser=PATIENT, warm_start=True).fit(X, y)
    before = crf.objective_value_
    assert crf.fit(X, y).objective_value_ == pytest.approx(before, rel=1e-8)


def test_memory_is_stated_beforehand_and_refused_beyond_the_budget() -> None:
    """Rows are padded to a multiple of what the processor takes at once."""
    bytes_ = _core.dual_ascent_bytes(1000, 10, 16)
    assert bytes_ == 4 * 16 * (1000 + 10 * 16) + 8 * 10
    X, y = draw(np.random.default_rng(0), 40, [2] * 200, n_names=3)
    method = replace(PATIENT, budget=1)
    problem = problem_for(method, design_of(X, y, 40), 40, Gaussian(), objective=Likelihood())
    with pytest.raises(InputError, match=r"dual_ascent needs \d+ MB .* budget of 1 MB; raise it"):
        method.start(problem, np.zeros(problem.n_variables))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (DualAscent(gap=-1.0), "gap is -1.0"),
        (DualAscent(patience=0), "patience is 0"),
        (DualAscent(budget=0), "budget is 0"),
        (DualAscent(seed=-1), "seed is -1"),
    ],
)
def test_settings(method: DualAscent, message: str) -> None:
    with pytest.raises(InputError, match=f"DualAscent: {message}"):
        ChainCRF(optimiser=method).fit([[["a"]]], [["X"]])


def test_edges_that_look_at_the_input_are_refused() -> None:
    X, y = draw(np.random.default_rng(0), STATES, [5, 4], edges=True)
    with pytest.raises(InputError, match="not for features of label pairs that look at the input"):
        begun(Case(design_of(X, y, STATES, edges=True), {}, Gaussian()))
