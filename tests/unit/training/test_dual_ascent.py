"""Dual ascent for the likelihood: what its passes keep, where it ends, and when L-BFGS takes over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, DualAscent, Gaussian, _core
from fieldcraft.errors import InputError
from fieldcraft.objectives import Likelihood
from fieldcraft.optimisers.dual_ascent import EXACT_EVERY, MEETING, OUTER, TOGETHER, DualAscentRun, together
from fieldcraft.optimisers.loop import Control, Loop, Outcome
from fieldcraft.problems import ChainProblem
from unit.training.corpora import chain_of, design_of, draw, draw_large, problem_for
from unit.training.margin_cases import STATES, Case, Floats, case, implied, programme

CASES = ("plain", "valued", "everything", "edges")
PATIENT = DualAscent(gap=1e-6, patience=10**6, max_iterations=2000)
ROUNDED = 1e-9  # marginals are stored in 32 bits: to this share of the objective the dual is a bound


def with_edges() -> Case:
    """Features of label pairs that look at the input, with values; some are masked; all precisions differ."""
    rng = np.random.default_rng(11)
    X, y = draw(rng, STATES, rng.integers(0, 7, 25), n_names=9, values=True, edges=True)
    design = design_of(X, y, STATES, edges=True)
    n = len(design.index)
    prior = Gaussian(variance=rng.uniform(0.5, 3.0, n), mean=rng.normal(0, 0.3, n))
    options = {"sequence_weights": rng.gamma(2.0, size=len(X)), "mask": rng.random(n) < 0.9}
    return Case(design, options, prior)


def likelihood(name: str) -> Case:
    """A case without what only the margin has; the prior is strong enough for a gap that closes quickly."""
    given = with_edges() if name == "edges" else case(name)
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


def shown(run: Any, name: str) -> Any:
    """A part of the native state."""
    return run.native.state()[run.parts.index(name)]


def stored(given: Case, run: Any) -> tuple[Floats, Floats]:
    """[tokens, S] and [N, S, S] marginals; what is stored are differences to gold, in padded rows.

    Of the label pairs only those with a weight are stored; the others have no meaning here.
    """
    gold, offsets = given.design.gold, given.design.encoded.offsets
    node = (
        np.asarray(shown(run, "node"), np.float64).reshape(len(gold), -1)[:, :STATES] + np.eye(STATES)[gold]
    )
    index = given.design.index
    cells = sorted({(index.previous[f], index.label[f]) for f in np.flatnonzero(index.attribute < 0)})
    rows = np.asarray(shown(run, "pairs"), np.float64).reshape(len(offsets) - 1, -1)
    assert not np.any(rows[:, len(cells) :])
    pairs = np.zeros((len(offsets) - 1, STATES, STATES))
    for k, cell in enumerate(cells):
        pairs[:, cell[0], cell[1]] = rows[:, k]
    for i, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        np.add.at(pairs[i], (gold[begin : max(begin, end - 1)], gold[begin + 1 : end]), 1.0)
    return node, pairs


def implied_by(given: Case, run: Any) -> Floats:
    """[F] the weights that belong to all that is stored, edge entries included, in the problem itself."""
    index, encoded = given.design.index, given.design.encoded
    _, c, _, precision, mask = programme(given)
    total, k = np.zeros(len(index)), 0
    entries = shown(run, "entries")
    for i, (begin, end) in enumerate(zip(encoded.offsets[:-1], encoded.offsets[1:])):
        for a in encoded.attributes[encoded.token_ptr[begin] : encoded.token_ptr[end]]:
            for f in np.flatnonzero((index.attribute == a) & (index.previous >= 0)):
                total[f] -= c[i] * entries[k]
                k += 1
    assert k == len(entries) == run.problem.n_entries
    return implied(given, *stored(given, run)) + total / precision * mask


@pytest.mark.parametrize("name", CASES)
def test_the_weights_are_always_those_of_the_stored_marginals(name: str) -> None:
    """Although they are never summed anew, but moved by each step, and the proximal point moves too.

    (1 + ratio) w - ratio z are the weights that belong to the marginals in the problem itself.
    """
    given = likelihood(name)
    run = begun(given)
    while run.step():
        live, z, (ratio,) = (shown(run, part) for part in ("live", "towards", "ratio"))
        node, _ = stored(given, run)
        np.testing.assert_allclose(
            (1 + ratio) * live - ratio * z, implied_by(given, run), rtol=1e-9, atol=1e-10
        )
        np.testing.assert_allclose(node.sum(1), 1.0, atol=1e-6)  # stored as 32 bits


@pytest.mark.parametrize("name", CASES)
def test_bound_and_distance_are_those_of_the_stored_marginals(name: str) -> None:
    """The dual of the problem itself, whatever the proximal point is."""
    given = likelihood(name)
    run = begun(given)
    for _ in range(3 * OUTER + 1):
        run.step()
        bound, distance = run.native.bounds(run.weights)
        _, c, mean, precision, mask = programme(given)
        v = implied_by(given, run) - mean * mask
        free = mask > 0
        off = (run.weights - mean - v)[free]
        assert distance == pytest.approx(np.sum(precision[free] * off**2) / 2, rel=1e-7)
        penalty = np.sum((precision * v * (mean + v / 2))[free])
        assert bound == pytest.approx(np.dot(c, shown(run, "entropy")) - penalty, rel=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_entropies_are_lower_bounds(name: str) -> None:
    """That of a chain follows from its marginals: H = H(pairs) - H(inner nodes)."""
    given = likelihood(name)
    run = begun(given)
    for _ in range(8):
        run.step()
    node, _ = stored(given, run)
    entropy, offsets = shown(run, "entropy"), given.design.encoded.offsets
    for i, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        p = np.clip(node[begin:end], 1e-300, 1.0)
        assert 0 <= entropy[i] <= -np.sum(p * np.log(p)) + 1e-5  # independent positions have the most


@pytest.mark.parametrize("name", CASES)
def test_it_ends_where_l_bfgs_does(name: str) -> None:
    given = likelihood(name)
    expected, run = exact(given), begun(given)
    outcome = Loop(run, Control()).go()
    assert (outcome.reason, outcome.converged, run.later) == ("duality gap small enough", True, None)
    assert 0 <= run.gap <= 1e-6 * outcome.objective
    assert run.dual <= expected.objective * (1 + ROUNDED)
    assert outcome.objective == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose(outcome.weights, expected.weights, atol=1e-2)


@pytest.mark.parametrize("variance", [5.0, 500.0])
def test_a_weak_penalty_needs_no_other_method(variance: float) -> None:
    given = likelihood("valued")._replace(prior=Gaussian(variance=variance))
    expected, run = exact(given), begun(given, replace(PATIENT, patience=80, gap=1e-5))
    outcome = Loop(run, Control()).go()
    assert (outcome.reason, run.later) == ("duality gap small enough", None)
    least = expected.objective
    assert least * (1 - ROUNDED) <= outcome.objective <= least * (1 + 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_gaps_on_record_are_upper_bounds(name: str) -> None:
    """Of the objective beside them, exact or not; and what is kept is the best of the exact ones."""
    given = likelihood(name)
    least = exact(given).objective
    outcome = Loop(begun(given), Control()).go()
    for record in outcome.records:
        assert record.gap is not None
        assert record.objective - record.gap <= least * (1 + ROUNDED)
    assert outcome.objective == min(record.objective for record in outcome.records if record.exact)


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
            assert run.value == pytest.approx(value, rel=1e-13)  # summed in another order
            assert run.gap >= run.least - least * (1 + ROUNDED)
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


@pytest.mark.parametrize("edges", [False, True], ids=["nodes", "edges"])
@pytest.mark.parametrize(
    "lengths", [(0, 60, 700), (0, 3, 9000), (0, 900, 50)], ids=["usual", "short", "long"]
)
def test_threads_do_not_change_a_bit(lengths: tuple[int, int, int], *, edges: bool) -> None:
    rng = np.random.default_rng(3)
    X, y = draw_large(rng, STATES, rng.integers(*lengths), n_names=200, values=True, edges=edges)
    given = Case(design_of(X, y, STATES, edges=edges), {}, Gaussian(variance=0.5))
    runs = [begun(given, n_jobs=jobs) for jobs in (1, 2, 3, 7)]
    for _ in range(3 * OUTER):
        for run in runs:
            run.step()
        for other in runs[1:]:
            assert other.weights.tobytes() == runs[0].weights.tobytes()
            assert (other.value, other.dual) == (runs[0].value, runs[0].dual)


@pytest.mark.parametrize("name", CASES)
def test_fewer_tokens_go_together_the_more_they_share(name: str) -> None:
    """By all pairs of tokens, one by one."""
    given = likelihood(name)
    index, encoded = given.design.index, given.design.encoded
    known = {int(a) for a in index.attribute[~index.is_edge] if a >= 0}
    ends = zip(encoded.token_ptr[:-1], encoded.token_ptr[1:])
    tokens = [[int(a) for a in encoded.attributes[begin:end] if int(a) in known] for begin, end in ends]
    met = sum(first.count(a) for token in tokens for first in tokens for a in token) / len(tokens)
    sharing = met / sum(map(len, tokens))
    run = begun(given)
    assert run.problem.sharing == pytest.approx(sharing, rel=1e-9)
    assert together(run.problem) == min(int(MEETING / sharing), TOGETHER)


def test_tokens_without_features_go_together() -> None:
    X, y = [[{}, {}]] * 3, [["A", "B"]] * 3
    crf = ChainCRF(prior=Gaussian(variance=0.5), optimiser=PATIENT).fit(X, y)
    assert crf.stop_reason_ == "duality gap small enough"


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
    """It begins where the first training ended, at most its gap above the optimum."""
    X, y = draw(np.random.default_rng(0), STATES, [4, 3, 5, 6], n_names=6)
    crf = ChainCRF(prior=Gaussian(variance=0.5), optimiser=PATIENT, warm_start=True).fit(X, y)
    before = crf.objective_value_
    assert before * (1 - PATIENT.gap) <= crf.fit(X, y).objective_value_ <= before * (1 + 1e-12)


def test_memory_is_stated_beforehand_and_refused_beyond_the_budget() -> None:
    """Rows are padded to a multiple of what the processor takes at once."""
    bytes_ = _core.dual_ascent_bytes(1000, 10, 16)
    assert bytes_ == 4 * 16 * (1000 + 10 * 16) + 32 * 10
    assert _core.dual_ascent_bytes(1000, 10, 16, 50) == bytes_ + 4 * 50
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
