"""The composed problem against the fused one: values, gradients, trained weights, threads."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from fieldcraft.design import Design
from fieldcraft.errors import SequenceError
from fieldcraft.labels import PartialLabels
from fieldcraft.objectives import Margin, SoftmaxMargin, resolve_objective
from fieldcraft.optimisers import LBFGS
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.priors import Gaussian, NoPrior
from fieldcraft.problems import ChainProblem, ComposedProblem
from laws.cases import OF_CHAINS
from unit.training.corpora import Floats, chain_of, design_of, draw, same

LENGTHS = [3, 0, 1, 9, 2, 1, 17, 4]
N_LABELS = 5


def objective_of(name: str, rng: np.random.Generator) -> Any:
    cost = rng.gamma(2.0, size=(N_LABELS, N_LABELS)) * (1 - np.eye(N_LABELS))
    with_cost = {"margin": Margin, "softmax_margin": SoftmaxMargin}
    return with_cost[name](cost=cost) if name in with_cost else resolve_objective(name)


def both(design: Design, **options: Any) -> tuple[ChainProblem, ComposedProblem]:
    """The two problems of a design."""
    prior = options.pop("prior", NoPrior())
    chain = chain_of(N_LABELS)
    objective = options.get("objective")
    costs = None if objective is None else objective.costs(chain.labels)
    return (
        ChainProblem(chain, design, prior, costs=costs, **options),
        ComposedProblem(chain, design, prior, costs=costs, **options),
    )


def slope(problem: Any, weights: Floats) -> tuple[float, Floats]:
    gradient = np.full(len(weights), np.nan)
    return problem.value_and_gradient(weights, gradient), gradient


@pytest.mark.parametrize("kind", [{}, {"values": True}, {"edges": True}], ids=["plain", "values", "edges"])
@pytest.mark.parametrize("name", sorted(OF_CHAINS))
def test_fused_and_composed_agree(name: str, kind: dict[str, bool]) -> None:
    rng = np.random.default_rng(3)
    objective = objective_of(name, rng)
    X, y = draw(rng, N_LABELS, LENGTHS, **kind)
    design = design_of(X, y, N_LABELS, edges=kind.get("edges", False))
    weights = rng.normal(size=len(design.index))
    options: dict[str, Any] = {
        "objective": objective,
        "sequence_weights": rng.gamma(2.0, size=len(LENGTHS)),
        "label_weights": rng.gamma(2.0, size=N_LABELS) if objective.weighs_labels else None,
        "mask": rng.random(len(design.index)) < 0.8,
    }
    fused, composed_ = (slope(p, weights) for p in both(design, prior=Gaussian(variance=3.0), **options))
    assert composed_[0] == pytest.approx(fused[0], rel=1e-10)
    same(composed_[1], fused[1], rel=1e-10, abs=1e-10 * max(1.0, np.abs(fused[1]).max()))


def test_partial_labels() -> None:
    from dataclasses import replace

    rng = np.random.default_rng(8)
    X, y = draw(rng, N_LABELS, LENGTHS)
    design = design_of(X, y, N_LABELS)
    sets = [sorted({int(g), *rng.integers(0, N_LABELS, size=2).tolist()}) for g in design.gold]
    sets = [[] if rng.random() < 0.2 else one for one in sets]
    ptr = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    labels = np.array([label for one in sets for label in one], np.int32)
    partial = replace(design, partial=PartialLabels(ptr, labels))
    weights = rng.normal(size=len(design.index))
    for name in ("marginal_likelihood", "viterbi"):
        fused, composed_ = (slope(p, weights) for p in both(partial, objective=resolve_objective(name)))
        assert composed_[0] == pytest.approx(fused[0], rel=1e-10)
        same(composed_[1], fused[1], rel=1e-10, abs=1e-10)


def test_trained_weights_agree() -> None:
    """Both run to |g| <= 1e-10 max(1, |w|)."""
    rng = np.random.default_rng(0)
    X, y = draw(rng, N_LABELS, rng.integers(1, 12, size=60), n_names=20)
    design = design_of(X, y, N_LABELS)
    exact = LBFGS(tolerance=1e-10, objective_tolerance=-np.inf, max_iterations=5000)
    ends = []
    for problem in both(design, prior=Gaussian(variance=1.0)):
        run = exact.start(problem, np.zeros(len(design.index)))
        Loop(run, Control()).go()
        assert run.gradient_norm() <= 1e-10 * max(1.0, run.weight_norm())
        ends.append(run.weights)
    same(ends[0], ends[1], rel=0.0, abs=1e-8)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X, y = draw(rng, N_LABELS, rng.integers(1, 20, size=200), n_names=40)
    design = design_of(X, y, N_LABELS)
    monkeypatch.setattr(ComposedProblem, "block", 50)
    weights = rng.normal(size=len(design.index))
    results = []
    for n_jobs in (1, 2, 3, 7):
        problem = ComposedProblem(chain_of(N_LABELS), design, Gaussian(), n_jobs=n_jobs)
        assert len(problem._blocks) > 20
        results.append(slope(problem, weights))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        assert np.array_equal(gradient, results[0][1])


@pytest.mark.parametrize("allowed", [0, 1])
def test_threads_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """Python says so by a RuntimeError; the work is done with fewer."""
    rng = np.random.default_rng(1)
    X, y = draw(rng, N_LABELS, rng.integers(1, 20, size=50), n_names=40)
    design = design_of(X, y, N_LABELS)
    monkeypatch.setattr(ComposedProblem, "block", 50)
    weights = rng.normal(size=len(design.index))
    one, four = (ComposedProblem(chain_of(N_LABELS), design, Gaussian(), n_jobs=n) for n in (1, 4))
    expected = slope(one, weights)
    start, begun = threading.Thread.start, []

    def failing(self: threading.Thread) -> None:
        if len(begun) == allowed:
            raise RuntimeError("can't start new thread")
        begun.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", failing)
    value, gradient = slope(four, weights)
    assert len(begun) == allowed
    assert value == expected[0]
    assert np.array_equal(gradient, expected[1])


def test_scores_beyond_the_largest_number_name_the_sequence_in_any_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The core counts sequences within a block."""
    monkeypatch.setattr(ComposedProblem, "block", 10)
    X, y = [[["a"]] * 6] * 3 + [[["b"]] * 6] + [[["a"]] * 6], [["L000"] * 6] * 5
    design = design_of(X, y, N_LABELS)
    problem = both(design)[1]
    assert len(problem._blocks) == 5
    b = design.index.attribute == 1
    assert b.any()
    with pytest.raises(SequenceError, match="^sequence 3: scores, or what they add up to") as raised:
        slope(problem, np.where(b, 1.5e308, 0.0))
    assert raised.value.sequence == 3
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_loss_that_is_not_finite_names_the_sequence() -> None:
    from fieldcraft.errors import FieldcraftError

    rng = np.random.default_rng(2)
    X, y = draw(rng, N_LABELS, [2, 2, 900, 3])
    design = design_of(X, y, N_LABELS)
    problem = both(design, objective=resolve_objective("exponential"))[1]
    with pytest.raises(FieldcraftError, match="sequence 2:"):
        slope(problem, np.zeros(len(design.index)))
