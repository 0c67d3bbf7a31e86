"""Every batch optimiser on one convex problem, and on problems of its own, against L-BFGS and SciPy.

An optimiser is held to stationarity, measured on gradients that this file computes by hand
(corpora.plain), and to agreement with the others; never to "the loss fell".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fieldcraft import (
    GIS,
    IIS,
    LBFGS,
    OWLQN,
    BoundedLBFGS,
    ChainCRF,
    ConjugateGradient,
    FieldcraftError,
    Gaussian,
    Laplacian,
)
from fieldcraft.optimisers.loop import Control, Loop
from fieldcraft.problems.curvatures import curvatures
from fieldcraft.problems.protocols import Gradient
from unit.training.corpora import EDGE, Floats, Loss, chain_of, design_of, draw, plain, same

EXACT: dict[str, Any] = {"max_iterations": 20_000, "tolerance": 1e-8, "objective_tolerance": -1.0}
CASES: dict[str, Any] = {
    "lbfgs": LBFGS(**EXACT),
    "owlqn": OWLQN(**EXACT),
    "bounded_lbfgs": BoundedLBFGS(**EXACT),
    "polak_ribiere": ConjugateGradient(**EXACT),
    "fletcher_reeves": ConjugateGradient(**EXACT, formula="fletcher_reeves"),
    "preconditioned": ConjugateGradient(**EXACT, preconditioner="diagonal"),
    "gis": GIS(**EXACT),
    "iis": IIS(**EXACT),
}
Corpus = tuple[list[Any], list[list[str]]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(11)
    return draw(rng, 4, rng.integers(0, 9, size=40), n_names=15, edges=True)


def loss_at(corpus: Corpus, weights: Floats, **options: Any) -> Loss:
    return plain(design_of(*corpus, 4, edges=True), 4, weights, **options)


@pytest.fixture(scope="module")
def reference(corpus: Corpus) -> Floats:
    crf = ChainCRF(prior=Gaussian(variance=2.0), optimiser=CASES["lbfgs"], edge_prefix=EDGE)
    return crf.fit(*corpus).weights_


@pytest.mark.parametrize("name", CASES)
def test_one_convex_problem(corpus: Corpus, reference: Floats, name: str) -> None:
    crf = ChainCRF(prior=Gaussian(variance=2.0), optimiser=CASES[name], edge_prefix=EDGE).fit(*corpus)
    gradient = loss_at(corpus, crf.weights_).gradient + crf.weights_ / 2.0
    tight = 1e-5  # gis stops at the objective's last digits, where the gradient is about the root of them
    assert np.abs(gradient).max() <= tight
    same(crf.weights_, reference, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_weights_masks_and_means(corpus: Corpus, name: str) -> None:
    """Sequence weights, a mask and a prior with a mean and a variance per weight."""
    rng = np.random.default_rng(5)
    costs = rng.gamma(2.0, size=len(corpus[0]))
    costs[3] = 0.0
    n = len(design_of(*corpus, 4, edges=True).index)
    mask, mean, variance = rng.random(n) < 0.7, rng.normal(size=n), rng.uniform(0.5, 4.0, size=n)
    crf = ChainCRF(prior=Gaussian(variance=variance, mean=mean), optimiser=CASES[name], edge_prefix=EDGE)
    w = crf.fit(*corpus, sample_weight=costs, feature_mask=mask).weights_
    assert np.all(w[~mask] == 0.0)
    gradient = loss_at(corpus, w, sequence_weights=costs).gradient + (w - mean) / variance
    assert np.abs(gradient[mask]).max() <= 1e-5


class Bounded(Gradient):
    """f = w A w / 2 - b w + sum log(1 + exp(w)) within bounds: a convex problem without a corpus."""

    def __init__(self, seed: int, n: int) -> None:
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(n, n)) * np.logspace(0, -2, n)
        self.A, self.b = root @ root.T + 1e-2 * np.eye(n), rng.normal(size=n)
        self.n_variables, self.n_jobs, self.l1 = n, 1, None
        lower, upper = np.sort(rng.normal(size=(2, n)), axis=0)
        self.bounds = (
            np.where(rng.random(n) < 0.3, -np.inf, lower),
            np.where(rng.random(n) < 0.3, np.inf, upper),
        )

    def value(self, w: Floats) -> float:
        return float(w @ self.A @ w / 2 - self.b @ w + np.logaddexp(0, w).sum())

    def slope(self, w: Floats) -> Floats:
        return np.asarray(self.A @ w - self.b + 1 / (1 + np.exp(-w)))

    def value_and_gradient(self, weights: Floats, gradient: Floats) -> float:
        gradient[:] = self.slope(weights)
        return self.value(weights)

    def l1_value(self, weights: Floats) -> float:
        return 0.0 * float(weights[0])


class TestBounds:
    @pytest.mark.parametrize("n", [1, 5, 60])
    @pytest.mark.parametrize("seed", range(8))
    def test_scipy(self, seed: int, n: int) -> None:
        problem = Bounded(seed, n)
        options = {"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-10}
        pairs = list(zip(*problem.bounds))
        theirs = optimize.minimize(
            problem.value, np.zeros(n), jac=problem.slope, bounds=pairs, method="L-BFGS-B", options=options
        )
        ours = Loop(BoundedLBFGS(**EXACT).start(problem, np.zeros(n)), Control()).go()
        assert np.all(ours.weights >= problem.bounds[0])
        assert np.all(ours.weights <= problem.bounds[1])
        assert ours.objective <= theirs.fun + 1e-9 * abs(theirs.fun)
        same(ours.weights, theirs.x, rel=1e-5, abs=1e-5)

    def test_projected_gradient(self) -> None:
        """At the end each weight is flat, or at a bound that the slope pushes it against."""
        problem = Bounded(3, 40)
        w = Loop(BoundedLBFGS(**EXACT).start(problem, np.zeros(40)), Control()).go().weights
        g, (lower, upper) = problem.slope(w), problem.bounds
        free = (w > lower) & (w < upper)
        assert 0 < free.sum() < 40
        assert np.abs(g[free]).max() <= 1e-6
        assert np.all(g[w == lower] >= 0)
        assert np.all(g[w == upper] <= 0)

    def test_a_crf_without_negative_weights(self, corpus: Corpus) -> None:
        crf = ChainCRF(prior=Gaussian(variance=2.0), optimiser=BoundedLBFGS(**EXACT, lower=0.0))
        w = crf.fit(*corpus).weights_
        g = plain(design_of(*corpus, 4), 4, w).gradient + w / 2.0
        assert w.min() == 0.0
        assert np.abs(g[w > 0]).max() <= 1e-6
        assert g[w == 0].min() >= -1e-6

    def test_without_bounds_it_is_lbfgs(self, corpus: Corpus) -> None:
        smooth, bounded = (
            ChainCRF(prior=Gaussian(variance=1.0), optimiser=kind(**EXACT)).fit(*corpus).weights_
            for kind in (LBFGS, BoundedLBFGS)
        )
        same(bounded, smooth, rel=1e-6, abs=1e-7)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"lower": 1.0, "upper": 0.0}, "weight 0 has the bounds 1 .. 0; lower must not exceed upper"),
            ({"lower": [0.0, 1.0, 2.0]}, r"lower has shape \(3,\); give one number or one per weight"),
            ({"upper": "high"}, "upper is 'high'; give one number or one per weight"),
            ({"upper": np.nan}, "no NaN"),
        ],
    )
    def test_bounds_that_make_no_sense(self, corpus: Corpus, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(FieldcraftError, match=message):
            ChainCRF(optimiser=BoundedLBFGS(**settings)).fit(*corpus)


class TestOWLQN:
    @pytest.mark.parametrize("seed", range(5))
    def test_the_first_step_is_long_and_needs_one_trial(self, seed: int) -> None:
        """Its length comes from the curvatures, not from a step of length one."""
        rng = np.random.default_rng(seed)
        X, y = draw(rng, 4, rng.integers(1, 9, size=200), n_names=30, per_token=3)

        def after_one(**settings: Any) -> ChainCRF:
            optimiser = OWLQN(max_iterations=1, **settings)
            return ChainCRF(prior=Laplacian(scale=1.0), optimiser=optimiser).fit(X, y)

        curved, published = after_one(), after_one(as_published=True)
        assert curved.training_log_[-1].evaluations == 2
        assert curved.objective_value_ < published.objective_value_

    @pytest.mark.parametrize(("objective", "weight"), [("exponential", 1.0), ("likelihood", 1e14)])
    def test_curvatures_that_are_far_off_do_no_harm(self, objective: str, weight: float) -> None:
        """They are the plain likelihood's; this loss is some ten to the fourteenth of it and more."""
        rng = np.random.default_rng(0)
        X, y = draw(rng, 4, np.full(30, 40), n_names=30, per_token=3)
        crf = ChainCRF(objective=objective, prior=Laplacian(scale=1.0), optimiser=OWLQN(max_iterations=10))
        crf.fit(X, y, sample_weight=np.full(30, weight))
        assert crf.n_iter_ == 10
        assert crf.objective_value_ < 0.9 * crf.training_log_[0].objective


class TestConjugateGradient:
    @pytest.mark.parametrize("formula", ["polak_ribiere", "fletcher_reeves"])
    def test_a_quadratic_takes_no_more_steps_than_variables(self, formula: str) -> None:
        """Conjugate directions end after as many steps as there are distinct curvatures; some slack is
        left for line searches that are not exact."""

        class Bowl(Bounded):
            def value(self, w: Floats) -> float:
                return float(w @ self.A @ w / 2 - self.b @ w)

            def slope(self, w: Floats) -> Floats:
                return np.asarray(self.A @ w - self.b)

        problem = Bowl(0, 6)
        problem.A = np.diag([1.0, 1.0, 5.0, 5.0, 20.0, 20.0])
        settings = ConjugateGradient(
            max_iterations=25, tolerance=1e-9, objective_tolerance=-1.0, formula=formula
        )
        outcome = Loop(settings.start(problem, np.zeros(6)), Control()).go()
        assert outcome.converged
        same(outcome.weights, problem.b / np.diag(problem.A), rel=1e-7, abs=1e-8)

    def test_curvatures(self) -> None:
        """The Hessian's diagonal at zero weights, for nodes, against differences of the plain gradient."""
        rng = np.random.default_rng(9)
        lengths = rng.integers(0, 6, size=25)
        X, y = draw(rng, 3, lengths, n_names=9, per_token=2, edges=True, values=True)
        design = design_of(X, y, 3, edges=True)
        found = curvatures(design, chain_of(3), Gaussian(variance=4.0))
        step = 1e-5
        for k in np.flatnonzero(~design.index.is_edge):
            there = np.zeros(len(found))
            there[k] = step
            sides = (plain(design, 3, side * there).gradient[k] for side in (1.0, -1.0))
            second = (next(sides) - next(sides)) / (2 * step)
            assert found[k] == pytest.approx(max(second, 1e-3) + 0.25, rel=1e-6)

    @pytest.mark.parametrize("settings", [{"formula": "hestenes"}, {"preconditioner": "full"}])
    def test_unknown_names(self, corpus: Corpus, settings: dict[str, Any]) -> None:
        (name, value) = next(iter(settings.items()))
        with pytest.raises(FieldcraftError, match=f"ConjugateGradient: {name}='{value}'; choose"):
            ChainCRF(optimiser=ConjugateGradient(**settings)).fit(*corpus)
