"""Dual methods: settings and problems that are refused, with the reason and the remedy."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from fieldcraft.errors import InputError
from fieldcraft.optimisers.cutting_plane import CuttingPlane
from fieldcraft.optimisers.dual import DualOptimiser
from fieldcraft.optimisers.exponentiated_gradient import ExponentiatedGradient
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.optimisers.smo import SMO
from fieldcraft.priors import ElasticNet, Gaussian, Laplacian, NoPrior, Prior
from unit.training.corpora import design_of, draw, problem_for
from unit.training.margin_cases import METHODS, STATES, Case, begun, case


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (FrankWolfe(gap=-1.0), "gap is -1.0"),
        (FrankWolfe(budget=0), "budget is 0"),
        (SMO(gap=float("nan")), "gap is nan"),
        (SMO(steps=0), "steps is 0"),
        (SMO(labelings=1.5), "labelings is 1.5"),  # type: ignore[arg-type]
        (ExponentiatedGradient(seed=-3), "seed is -3"),
        (CuttingPlane(slack="two"), "slack is 'two'; choose one of one, n"),
        (CuttingPlane(solver="simplex"), "solver is 'simplex'; choose one of auto, active_set, clarabel"),
    ],
)
def test_settings(method: DualOptimiser, message: str) -> None:
    with pytest.raises(InputError, match=message):
        method.check()


@pytest.mark.parametrize("method", METHODS)
def test_good_settings_pass(method: str) -> None:
    METHODS[method].check()


@pytest.mark.parametrize("prior", [NoPrior(), Laplacian(scale=1.0), ElasticNet(scale=1.0, variance=1.0)])
def test_priors_without_a_dual(prior: Prior) -> None:
    with pytest.raises(InputError, match="a dual needs a Gaussian penalty on every weight"):
        problem_for(FrankWolfe(), case("plain").design, STATES, prior)


def test_weights_without_penalty() -> None:
    with pytest.raises(InputError, match="finite variances"):
        problem_for(SMO(), case("plain").design, STATES, Gaussian(variance=np.inf))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "one slack"])
def test_edges_that_look_at_the_input(method: str) -> None:
    X, y = draw(np.random.default_rng(0), STATES, [5, 4], edges=True)
    given = Case(design_of(X, y, STATES, edges=True), {}, Gaussian())
    with pytest.raises(InputError, match="not for features of label pairs that look at the input"):
        begun(METHODS[method], given)


def test_one_slack_takes_such_edges() -> None:
    X, y = draw(np.random.default_rng(0), STATES, [5, 4, 6], edges=True)
    run = begun(CuttingPlane(gap=1e-3), Case(design_of(X, y, STATES, edges=True), {}, Gaussian()))
    while run.step():
        assert run.dual <= run.value
    assert run.gap <= 1e-3 * run.value


@pytest.mark.parametrize("method", ["frank_wolfe", "exponentiated_gradient"])
def test_more_memory_than_the_budget(method: str) -> None:
    rng = np.random.default_rng(0)
    X, y = draw(rng, 40, [2] * 200, n_names=3)
    given = Case(design_of(X, y, 40), {}, Gaussian())
    small = replace(METHODS[method], budget=1)  # type: ignore[call-arg]
    with pytest.raises(InputError, match=rf"{small.name} needs \d+ MB .* budget of 1 MB; raise it"):
        small.start(problem_for(small, given.design, 40, given.prior), np.zeros(0))


@pytest.mark.parametrize("method", METHODS)
def test_corpora_that_are_too_large(method: str) -> None:
    class Size(NamedTuple):
        tokens: int

    assert METHODS[method].fits(Size(300_000))
    small = isinstance(METHODS[method], (ExponentiatedGradient, CuttingPlane))
    assert METHODS[method].fits(Size(300_001)) is not small
