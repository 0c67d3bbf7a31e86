"""What every pass of a dual method keeps: the dual rises, threads do not matter, states go on bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft import _core
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.priors import Gaussian
from unit.training.corpora import design_of, draw, draw_large
from unit.training.margin_cases import METHODS, STATES, Case, begun, case, implied

NATIVE = [name for name in METHODS if name != "one slack"]


@pytest.mark.parametrize("name", ["plain", "everything"])
@pytest.mark.parametrize("method", METHODS)
def test_the_dual_never_falls_nor_exceeds_the_primal(method: str, name: str) -> None:
    run = begun(METHODS[method], case(name))
    before = run.dual
    for _ in range(25):
        run.step()
        assert before - 1e-12 * abs(before) <= run.dual <= run.value
        before = run.dual


@pytest.mark.parametrize("method", [name for name in NATIVE if name != "n slacks"])
def test_no_line_search_lowers_the_dual(method: str) -> None:
    """A pass may visit one sequence again and again: each visit is a step of its own."""
    given = case("everything")
    run = begun(METHODS[method], given)
    n, before = run.problem.n_sequences, run.native.dual()
    steps = (2,) if "smo" in method else ()
    for i in [0, 5, 6, 0, 2, 5, 6, 3, 1, 4]:
        run.native.run(np.full(n, i, np.int64), *steps)
        now = run.native.dual()
        assert now >= before - 1e-12 * abs(before)
        before = now


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_a_bit(method: str) -> None:
    rng = np.random.default_rng(3)
    X, y = draw_large(rng, STATES, rng.integers(0, 60, 350), n_names=200, values=True)
    given = Case(design_of(X, y, STATES), {}, Gaussian(variance=0.5))
    runs = [begun(METHODS[method], given, n_jobs=jobs) for jobs in (1, 2, 3)]
    for _ in range(3):
        for run in runs:
            run.step()
        for other in runs[1:]:
            assert other.weights.tobytes() == runs[0].weights.tobytes()
            assert (other.value, other.dual) == (runs[0].value, runs[0].dual)


@pytest.mark.parametrize("method", METHODS)
def test_a_restored_run_goes_on_bit_for_bit(method: str) -> None:
    given = case("everything")
    run, other = (begun(METHODS[method], given) for _ in range(2))
    for _ in range(4):
        run.step()
    other.restore({name: np.array(part) for name, part in run.state().items()})
    for _ in range(4):
        run.step(), other.step()
        assert other.weights.tobytes() == run.weights.tobytes()
        assert (other.value, other.dual, other.iteration) == (run.value, run.dual, run.iteration)


def test_the_average_counts_later_steps_more() -> None:
    """With one sequence a pass is a step: the lazy average is 2 / (n (n + 1)) sum of j w_j."""
    X, y = draw(np.random.default_rng(1), STATES, [6], n_names=4)
    given = Case(design_of(X, y, STATES), {}, Gaussian(variance=2.0))
    run = begun(FrankWolfe(gap=0.0, average=True), given)
    total, now = np.zeros_like(run.weights), np.empty_like(run.weights)
    for n in range(1, 30):
        run.step()
        run.native.weights(now)
        total += n * now
        np.testing.assert_allclose(run.weights, 2 * total / (n * (n + 1)), rtol=1e-10, atol=1e-12)


def test_the_weights_are_a_function_of_the_marginals() -> None:
    """Frank-Wolfe's stored marginals are of distributions, and expected counts give back the weights."""
    given = case("everything")
    run = begun(METHODS["frank_wolfe"], given)
    for _ in range(5):
        run.step()
    node, pairs, cost, _, _ = (np.asarray(part) for part in run.native.state())
    offsets = given.design.encoded.offsets
    node, pairs = node.reshape(-1, STATES), pairs.reshape(-1, STATES, STATES)
    np.testing.assert_allclose(node.sum(1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(pairs.sum((1, 2)), np.maximum(np.diff(offsets) - 1, 0), rtol=1e-12)
    np.testing.assert_allclose(run.weights, implied(given, node, pairs), rtol=1e-9, atol=1e-12)
    assert (cost >= 0).all()


def test_states_of_another_training_are_refused() -> None:
    run = begun(METHODS["smo"], case("plain"))
    counts, shares, labels = (np.asarray(part) for part in run.native.state())
    with pytest.raises(ValueError, match="another training"):
        run.native.restore(counts[:-1], shares, labels)
    with pytest.raises(ValueError, match="another training"):
        run.native.restore(counts, shares, labels + np.uint16(STATES))
    with pytest.raises(ValueError, match="order"):
        run.native.run(np.array([99] * len(counts), np.int64), 1)


def test_memory_is_stated_beforehand() -> None:
    assert _core.frank_wolfe_bytes(1000, 10, 5) == 8 * (1000 * 5 + 10 * 26)
    assert _core.exponentiated_gradient_bytes(1000, 10, 5) == 16 * (1000 * 5 + 10 * 26)
