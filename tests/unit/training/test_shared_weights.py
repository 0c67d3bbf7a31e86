"""Weights that act as one: their variables are what the weights are, and training takes the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import FieldcraftError, _core
from fieldcraft.design import Design
from fieldcraft.objectives import Pointwise
from fieldcraft.priors import Laplacian
from fieldcraft.problems import build
from fieldcraft.problems.chain import ChainProblem
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from unit.training.corpora import EDGE, Floats, design_of, draw, plain, same
from unit.training.test_warm_start import named

MEAN, VARIANCE = 0.3, 0.7
KINDS = [
    pytest.param({}, id="plain"),
    pytest.param({"values": True}, id="values"),
    pytest.param({"edges": True}, id="edges"),
    pytest.param({"values": True, "edges": True}, id="values-edges"),
]


def with_twins(X: list[Any], n_twins: int = 3) -> list[Any]:
    """Every attribute of labels has up to so many others that always come with it, with its value."""

    def twins(name: str) -> list[str]:
        n = 0 if name.startswith(EDGE) else sum(map(ord, name)) % (n_twins + 1)
        return [name, *(f"{name}~{k}" for k in range(n))]

    def grown(token: Any) -> Any:
        if isinstance(token, dict):
            return {twin: value for name, value in token.items() for twin in twins(name)}
        return [twin for name in token for twin in twins(name)]

    return [[grown(token) for token in tokens] for tokens in X]


def twin_design(n_labels: int, seed: int = 0, **kind: bool) -> Design:
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n_labels, [30, 0, 1, 9, 25, 1, 17], n_names=20, **kind)
    return design_of(with_twins(X), y, n_labels, edges=kind.get("edges", False))


def problem_of(design: Design, n_labels: int, prior: Any = None, **options: Any) -> Any:
    prior = fc.Gaussian(variance=VARIANCE, mean=MEAN) if prior is None else prior
    return build(LinearChain(StateSpace.labels(n_labels)), "gradient", design, prior, **options)


def penalised(design: Design, n_labels: int, weights: Floats, sequence_weights: Floats | None) -> Any:
    """Value and gradient of all weights, by hand."""
    loss = plain(design, n_labels, weights, sequence_weights=sequence_weights)
    away = weights - MEAN
    return loss.value + away @ away / (2 * VARIANCE), loss.gradient + away / VARIANCE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 9, 17, 30, 50])
def test_variables_are_what_their_weights_are(n_labels: int, kind: dict[str, bool]) -> None:
    design = twin_design(n_labels, **kind)
    rng = np.random.default_rng(n_labels)
    for costs in (None, rng.gamma(2.0, size=design.n_sequences)):
        problem = problem_of(design, n_labels, sequence_weights=costs, n_jobs=2)
        shared, start = problem.shared(np.zeros(problem.n_variables))
        assert shared.n_variables == len(start) < problem.n_variables
        assert shared.members.sum() == problem.n_variables
        variables, gradient = rng.normal(size=len(start)), np.full(len(start), np.nan)
        value = shared.value_and_gradient(variables, gradient)
        weights = shared.weights(variables)
        expected, slope = penalised(design, n_labels, weights, costs)
        assert value == pytest.approx(expected, rel=1e-10)
        same(shared.weights(gradient), slope)
        product = _core.dot(variables, gradient, 2, shared.members)
        assert product == pytest.approx(float(weights @ slope), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_problem_takes_any_weights_as_before(kind: dict[str, bool]) -> None:
    design = twin_design(9, **kind)
    problem = problem_of(design, 9)
    assert problem.shared(np.zeros(problem.n_variables)) is not None
    weights = np.random.default_rng(2).normal(size=problem.n_variables)
    gradient = np.full(problem.n_variables, np.nan)
    expected, slope = penalised(design, 9, weights, None)
    assert problem.value_and_gradient(weights, gradient) == pytest.approx(expected, rel=1e-10)
    same(gradient, slope)
    losses = problem.losses(weights)
    one = plain(design, 9, weights).value
    gold = float(np.asarray(design.gold_counts(), np.float64) @ weights) if not kind.get("values") else None
    assert gold is None or losses.sum() - gold == pytest.approx(one, rel=1e-10)


def test_weights_that_start_apart_stay_apart() -> None:
    design = twin_design(5)
    rng = np.random.default_rng(4)
    start = np.where(rng.random(len(design.index)) < 0.3, rng.normal(size=len(design.index)), 0.0)
    problem = problem_of(design, 5)
    shared, variables = problem.shared(start)
    assert np.array_equal(shared.weights(variables), start)
    alike, _ = problem_of(design, 5).shared(np.zeros_like(start))
    assert alike.n_variables < shared.n_variables


def test_a_variable_has_at_most_255_weights() -> None:
    """600 attributes that always come together, with one label and with two."""
    names = [f"n{k}" for k in range(600)]
    X: list[Any] = [[names, ["other"]], [names], [["other"], names]]
    design = design_of(X, [["L000", "L001"], ["L000"], ["L000", "L001"]], 2)
    problem = problem_of(design, 2)
    shared, start = problem.shared(np.zeros(problem.n_variables))
    assert sorted(shared.members.tolist())[-6:] == [90, 90, 255, 255, 255, 255]
    variables = np.random.default_rng(0).normal(size=len(start)) / 100
    value = shared.value_and_gradient(variables, np.empty_like(variables))
    expected, _ = penalised(design, 2, shared.weights(variables), None)
    assert value == pytest.approx(expected, rel=1e-10)


SHARED = ChainProblem.shared


def weights_after(monkeypatch: pytest.MonkeyPatch, X: Any, y: Any, *, share: bool, **options: Any) -> Any:
    told: list[int] = []

    def shared(self: Any, start: Floats) -> Any:
        found = SHARED(self, start) if share else None
        told.append(0 if found is None else found[0].n_variables)
        return found

    monkeypatch.setattr(ChainProblem, "shared", shared)
    optimiser = fc.LBFGS(**{"max_iterations": 12, "tolerance": 0.0, "objective_tolerance": 0.0, **options})
    crf = fc.ChainCRF(prior=fc.Gaussian(variance=2.0), optimiser=optimiser).fit(X, y)
    assert len(told) == 1
    assert (0 < told[0] < len(crf.weights_)) if share else told[0] == 0
    return crf


def test_training_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(np.random.default_rng(5), 6, [8] * 60, n_names=60)
    X = with_twins(X)
    plainly = weights_after(monkeypatch, X, y, share=False)
    shared = weights_after(monkeypatch, X, y, share=True)
    for a, b in zip(plainly.training_log_, shared.training_log_, strict=True):
        # rounding errors grow with the iterations
        assert b.objective == pytest.approx(a.objective, rel=1e-9)
        assert b.gradient_norm == pytest.approx(a.gradient_norm, rel=1e-6)
        assert b.weight_norm == pytest.approx(a.weight_norm, rel=1e-7)
        assert b.evaluations == a.evaluations
    same(shared.weights_, plainly.weights_, rel=1e-6, abs=1e-7)
    by_name = named(shared)
    twins = [key for key in by_name if key[0].endswith("~0")]
    assert len(twins) > 50
    assert all(by_name[key] == by_name[key[0][:-2], key[1], key[2]] for key in twins)


def test_both_reach_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(np.random.default_rng(6), 4, [8] * 60, n_names=60)
    X = with_twins(X)
    options = {"max_iterations": 500, "tolerance": 1e-8}
    plainly = weights_after(monkeypatch, X, y, share=False, **options)
    shared = weights_after(monkeypatch, X, y, share=True, **options)
    assert shared.objective_value_ == pytest.approx(plainly.objective_value_, rel=1e-12)
    same(shared.weights_, plainly.weights_, rel=1e-6, abs=1e-6)


OTHERS: list[Any] = [
    pytest.param({"prior": Laplacian(scale=1.0)}, id="absolute values"),
    pytest.param({"prior": fc.Gaussian(variance=np.linspace(1, 2, 7))}, id="own variances"),
    pytest.param({"mask": True}, id="a mask"),
    pytest.param({"objective": Pointwise()}, id="another loss"),
]


@pytest.mark.parametrize("options", OTHERS)
def test_other_problems_share_nothing(options: dict[str, Any]) -> None:
    design = twin_design(3)
    n = len(design.index)
    if isinstance(options.get("prior"), fc.Gaussian):
        options = {"prior": fc.Gaussian(variance=np.linspace(1, 2, n))}
    if "mask" in options:
        options = {"mask": np.arange(n) % 2 == 0}
    assert problem_of(design, 3, **options).shared(np.zeros(n)) is None


def test_few_twins_are_not_worth_it() -> None:
    X, y = draw(np.random.default_rng(7), 3, [30] * 40, n_names=100)
    design = design_of(X, y, 3)
    assert problem_of(design, 3).shared(np.zeros(len(design.index))) is None


def test_the_loss_stays_as_it_is() -> None:
    problem = problem_of(twin_design(3), 3)
    with pytest.raises(ValueError, match="no weights are shared"):
        problem._native.members()
    assert problem.shared(np.zeros(problem.n_variables)) is not None
    for forbidden in (
        lambda: problem.empirical,
        lambda: problem._native.expect(np.zeros(problem.n_variables)),
        lambda: problem.shared(np.zeros(problem.n_variables)),
    ):
        with pytest.raises(ValueError, match="weights are shared"):
            forbidden()


def test_a_loss_that_is_not_finite_names_its_sequence() -> None:
    X, y = draw(np.random.default_rng(8), 3, [6] * 30, n_names=40, values=True)
    X = [
        [{name: 1e3 * value for name, value in token.items()} for token in tokens] for tokens in with_twins(X)
    ]
    design = design_of(X, y, 3)
    problem = problem_of(design, 3)
    problem._scales = None
    shared, start = problem.shared(np.zeros(problem.n_variables))
    with pytest.raises(FieldcraftError, match=r"sequence \d+: its loss"):
        shared.value_and_gradient(np.full(len(start), 1e306), np.empty(len(start)))
