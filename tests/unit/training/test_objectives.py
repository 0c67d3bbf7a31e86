"""Fused = functional for every objective: the native loss over a design against the readable one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldcraft.design import Design
from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives import Likelihood, Margin, SoftmaxMargin, resolve_objective
from fieldcraft.potentials import ChainWeights
from fieldcraft.priors import NoPrior
from fieldcraft.problems import ChainProblem
from fieldcraft.structures.states import StateSpace
from laws.cases import OF_CHAINS
from unit.training.corpora import Floats, Loss, adjoint, chain_of, design_of, draw, draw_large, same

NAMES = sorted(OF_CHAINS)
KINDS = [
    pytest.param({}, id="plain"),
    pytest.param({"values": True}, id="values"),
    pytest.param({"edges": True}, id="edges"),
    pytest.param({"values": True, "edges": True}, id="values-edges"),
]
LENGTHS = [3, 0, 1, 9, 2, 1, 17, 4]


@cache
def drawn(n_labels: int, lengths: tuple[int, ...], values: bool = False, edges: bool = False) -> Design:
    make = draw_large if sum(lengths) > 1000 else draw
    X, y = make(np.random.default_rng(n_labels), n_labels, lengths, values=values, edges=edges)
    return design_of(X, y, n_labels, features="all", edges=edges)


class Case:
    """A drawn corpus with everything that an objective may ask for."""

    def __init__(self, name: str, n_labels: int, kind: dict[str, bool], lengths: list[int] = LENGTHS) -> None:
        rng = np.random.default_rng([n_labels, 1])
        self.n_labels = n_labels
        self.design = drawn(n_labels, tuple(lengths), **kind)
        self.cost = rng.gamma(2.0, size=(n_labels, n_labels)) * (1 - np.eye(n_labels))
        self.objective: Any = (
            {"margin": Margin, "softmax_margin": SoftmaxMargin}[name](cost=self.cost)
            if name in ("margin", "softmax_margin")
            else resolve_objective(name)
        )
        self.sequence_weights = rng.gamma(2.0, size=len(lengths))
        self.sequence_weights[rng.integers(len(lengths))] = 0.0
        self.label_weights = rng.gamma(2.0, size=n_labels) if self.objective.weighs_labels else None
        self.allowed: NDArray[np.bool_] = rng.random((len(self.design.gold), n_labels)) < 0.3
        self.allowed[np.arange(len(self.design.gold)), self.design.gold] = True
        self.weights = rng.normal(size=len(self.design.index))

    def problem(self, *, n_jobs: int = 1) -> ChainProblem:
        problem = ChainProblem(
            chain_of(self.n_labels),
            self.design,
            NoPrior(),
            objective=self.objective,
            costs=self.objective.costs(self.n_labels),
            label_weights=self.label_weights,
            sequence_weights=self.sequence_weights,
            n_jobs=n_jobs,
        )
        if self.objective.partial:
            problem._native.use(
                self.objective.name, self.design.gold, None, None, self.allowed.astype(np.uint8)
            )
        return problem

    def fused(self, *, n_jobs: int = 1) -> Loss:
        gradient = np.full(len(self.weights), np.nan)
        return Loss(self.problem(n_jobs=n_jobs).value_and_gradient(self.weights, gradient), gradient)

    def functional(self) -> Loss:
        d, S = self.design, self.n_labels
        node, edge = ChainWeights.of(d.index, self.weights, S).arrays(d.encoded)
        gold = self.allowed if self.objective.partial else d.gold
        found = self.objective.value_and_gradient(
            StateSpace.labels(S),
            node,
            edge,
            d.encoded.offsets,
            gold,
            self.sequence_weights,
            self.label_weights,
        )
        back = adjoint(d.index, d.encoded, found.node, found.edge, S)
        return Loss(float(found.value.sum()), back)


def agree(found: Loss, expected: Loss, *, rel: float = 1e-10) -> None:
    assert found.value == pytest.approx(expected.value, rel=rel, abs=rel)
    same(found.gradient, expected.gradient, rel=rel, abs=rel * max(1.0, np.abs(expected.gradient).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 8, 9, 22])
@pytest.mark.parametrize("name", NAMES)
def test_every_element(name: str, n_labels: int, kind: dict[str, bool]) -> None:
    case = Case(name, n_labels, kind)
    agree(case.fused(), case.functional())


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_threads_agree_to_the_last_bit(name: str, *, edges: bool) -> None:
    """More tokens than two rounds of an evaluation hold (1 MiB of marginals each)."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 30, size=800).tolist()
    n_labels = 20
    assert sum(lengths) * n_labels * 8 > 1.5 * 2**20
    case = Case(name, n_labels, {"edges": edges}, lengths)
    if name == "exponential":
        case.weights *= 0.01  # 1 / p of thirty tokens
    alone = case.fused()
    for n_jobs in (2, 3):
        found = case.fused(n_jobs=n_jobs)
        assert found.value == alone.value
        assert np.array_equal(found.gradient, alone.gradient)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("size", [10.0, 50.0, 500.0])
@pytest.mark.parametrize("name", NAMES)
def test_weights_that_scaled_recursions_cannot_hold(name: str, size: float, *, edges: bool) -> None:
    """Gold labels of probability 1e-1000. A score of 1e4 has an ulp of 2e-12: hence the tolerance."""
    case = Case(name, 4, {"edges": edges})
    case.weights = size * np.sign(case.weights)
    try:
        expected = case.functional()
    except FieldcraftError as error:
        assert "exponential" in name
        with pytest.raises(FieldcraftError, match=re.escape(str(error))):
            case.fused()
        return
    agree(case.fused(), expected, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_likelihood_is_the_fused_default(kind: dict[str, bool]) -> None:
    case = Case("likelihood", 5, kind)
    fused, gradient = case.problem(), np.empty(len(case.weights))
    value = fused.value_and_gradient(case.weights, gradient)
    fused._native.use("likelihood", case.design.gold, None, None, None)
    other = np.empty_like(gradient)
    assert fused.value_and_gradient(case.weights, other) == pytest.approx(value, rel=1e-12)
    same(other, gradient, rel=1e-11, abs=1e-12)


def test_a_start_that_overflows_names_the_sequence() -> None:
    rng = np.random.default_rng(0)
    X, y = draw(rng, 3, [4, 900, 5])
    design = design_of(X, y, 3, features="all")
    problem = ChainProblem(chain_of(3), design, NoPrior(), objective=resolve_objective("exponential"))
    with pytest.raises(FieldcraftError, match="sequence 1: 1 / p.*use objective='pointwise_exponential'"):
        problem.value_and_gradient(np.zeros(len(design.index)), np.empty(len(design.index)))


def test_expected_counts_are_the_gradient_of_the_allowed_sum() -> None:
    """E_allowed = E_all - gradient of the marginal likelihood; Q touches the loss where it was made."""
    case = Case("marginal_likelihood", 4, {"edges": True, "values": True})
    problem, g = case.problem(), np.empty(len(case.weights))
    problem._allowed = case.allowed.astype(np.uint8)
    loss = problem.value_and_gradient(case.weights, g)
    above, h = problem.expect(case.weights), np.empty_like(g)
    assert above + problem.value_and_gradient(case.weights, h) == pytest.approx(loss, rel=1e-12)
    same(h, g, rel=1e-10, abs=1e-10)
    elsewhere: Floats = case.weights + np.random.default_rng(3).normal(size=len(case.weights))
    bound = above + problem.value_and_gradient(elsewhere, h)
    problem._native.use("marginal_likelihood", case.design.gold, None, None, problem._allowed)
    assert problem.value_and_gradient(elsewhere, h) <= bound


def test_names_are_those_of_the_core() -> None:
    case = Case("likelihood", 2, {})
    for name in NAMES:
        cost, allowed = case.cost, case.allowed.astype(np.uint8)
        case.problem()._native.use(name, case.design.gold, cost, None, allowed)
    with pytest.raises(ValueError, match="no loss is called other"):
        case.problem()._native.use("other", case.design.gold, None, None, None)
    assert isinstance(resolve_objective(None), Likelihood)
