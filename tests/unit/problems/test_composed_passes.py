"""Stochastic optimisers take the same steps over the composed problem, by callback, as over the fused one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldcraft.objectives import resolve_objective
from fieldcraft.optimisers import (
    AROW,
    SAG,
    SGD,
    Adagrad,
    AveragedPerceptron,
    PassiveAggressive,
    Perceptron,
    Subgradient,
    VotedPerceptron,
)
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.priors import ElasticNet, Gaussian, NoPrior, Prior
from fieldcraft.problems import ComposedProblem
from unit.training.corpora import Floats, design_of, draw, problem_for, same

N_LABELS = 3
SHORT: dict[str, Any] = {"max_iterations": 3}
CASES = [
    pytest.param(SGD(learning_rate=0.1, **SHORT), "likelihood", Gaussian(), id="sgd"),
    pytest.param(SGD(average="linear", **SHORT), "softmax_margin", NoPrior(), id="sgd-calibrated"),
    pytest.param(SGD(learning_rate=0.1, **SHORT), "likelihood", ElasticNet(scale=20.0), id="sgd-l1"),
    pytest.param(Adagrad(learning_rate=0.1, **SHORT), "pointwise", Gaussian(mean=0.1), id="adagrad"),
    pytest.param(SAG(**SHORT), "likelihood", Gaussian(), id="sag"),
    pytest.param(Perceptron(**SHORT), "perceptron", NoPrior(), id="perceptron"),
    pytest.param(AveragedPerceptron(**SHORT), "perceptron", NoPrior(), id="averaged"),
    pytest.param(AveragedPerceptron(update="pass", **SHORT), "perceptron", NoPrior(), id="averaged-pass"),
    pytest.param(VotedPerceptron(**SHORT), "perceptron", NoPrior(), id="voted"),
    pytest.param(PassiveAggressive(**SHORT), "perceptron", NoPrior(), id="passive-aggressive"),
    pytest.param(AROW(**SHORT), "perceptron", NoPrior(), id="arow"),
    pytest.param(Subgradient(**SHORT), "margin", Gaussian(), id="subgradient"),
    pytest.param(Subgradient(**SHORT), "viterbi", NoPrior(), id="subgradient-viterbi"),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("settings", "objective", "prior"), CASES)
def test_same_steps(settings: Any, objective: str, prior: Prior, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    X, y = draw(rng, N_LABELS, rng.integers(1, 8, size=25), values=weighted)
    design = design_of(X, y, N_LABELS)
    loss = resolve_objective(objective)
    options: dict[str, Any] = {"objective": loss, "costs": loss.costs(N_LABELS)}
    if weighted:
        options["sequence_weights"] = rng.gamma(2.0, size=25)
        options["mask"] = rng.random(len(design.index)) < 0.8
    start = rng.normal(size=len(design.index)) * options.get("mask", 1.0)
    ends: list[Floats] = []
    for fused in (True, False):
        problem = problem_for(settings, design, N_LABELS, prior, fused=fused, **options)
        assert isinstance(problem, ComposedProblem) is not fused
        ends.append(Loop(settings.start(problem, start), Control()).go().weights)
    assert not np.array_equal(ends[0], start)
    rounded = isinstance(settings, SAG)  # it remembers float32; chains sum label pairs before rounding
    same(ends[1], ends[0], rel=1e-6 if rounded else 1e-9, abs=1e-6 if rounded else 1e-9)


def test_an_error_in_a_structure_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    design = design_of(*draw(rng, N_LABELS, [3, 4]), N_LABELS)
    settings = SGD(learning_rate=0.1)
    problem = problem_for(settings, design, N_LABELS, NoPrior(), fused=False)
    run = settings.start(problem, np.zeros(len(design.index)))
    run.begin()
    _ = run.native

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a structure's own fault")

    monkeypatch.setattr(problem.structure, "infer", broken)
    with pytest.raises(ZeroDivisionError, match="own fault"):
        run.step()
