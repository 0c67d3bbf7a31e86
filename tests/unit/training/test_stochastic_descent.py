"""SGD, Adagrad, SAG and the sub-gradient method: each step against its formula, each end against L-BFGS.

Tolerances are what each method claims: SGD and Adagrad come near the minimum, SAG reaches it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, OWLQN, ChainCRF, ElasticNet, FieldcraftError, Gaussian, Laplacian
from fieldcraft.optimisers.adagrad import Adagrad
from fieldcraft.optimisers.calibration import best_rate
from fieldcraft.optimisers.perceptron import AveragedPerceptron, VotedPerceptron
from fieldcraft.optimisers.sag import SAG
from fieldcraft.optimisers.sgd import SGD
from fieldcraft.optimisers.subgradient import Subgradient
from fieldcraft.optimisers.table import check_settings
from fieldcraft.priors import Prior
from oracles import online
from unit.training.corpora import EDGE, Floats, draw, same
from unit.training.online_cases import begin, case, visited

SHAPES: list[dict[str, Any]] = [{}, {"values": True}, {"edges": True}]
EXACT: dict[str, Any] = {"max_iterations": 20_000, "tolerance": 1e-8, "objective_tolerance": -1.0}
LONG: dict[str, Any] = {"max_iterations": 400, "objective_tolerance": -1.0}


def averaged(history: list[Floats], average: str | None) -> Floats:
    steps = {None: None, "uniform": np.ones(len(history)), "linear": np.arange(1, len(history) + 1)}[average]
    return history[-1] if steps is None else np.average(history, axis=0, weights=steps)


@pytest.mark.parametrize("shape", SHAPES[:2])
@pytest.mark.parametrize("average", [None, "uniform", "linear"])
class TestSteps:
    def test_sgd(self, average: str | None, shape: dict[str, Any]) -> None:
        """The penalty by a scale; two passes."""
        c = case(1, **shape)
        run = begin(SGD(learning_rate=0.4, average=average), c, prior=Gaussian(variance=0.7))
        run.step(), run.step()
        n, p = len(c.examples), 1 / 0.7
        order = visited(run, c.examples, 2)
        literal = online.descent(
            order, c.start, online.likelihood, rate=0.4, decay=0.4 * p / n, n=n, precision=p
        )
        same(run.weights, averaged(literal, average), rel=1e-9, abs=1e-11)

    def test_subgradient(self, average: str | None, shape: dict[str, Any]) -> None:
        c = case(2, **shape)
        settings = Subgradient(average=average, learning_rate=0.6)
        run = begin(settings, c, objective="margin", prior=Gaussian(variance=0.5))
        run.step(), run.step()
        n = len(c.examples)
        order = visited(run, c.examples, 2)
        literal = online.descent(order, c.start, online.hinge, rate=0.6, decay=1.2 / n, n=n, precision=2.0)
        same(run.weights, averaged(literal, average), rel=1e-9, abs=1e-11)

    def test_adagrad(self, average: str | None, shape: dict[str, Any]) -> None:
        """Means and variances of their own for all weights."""
        c = case(3, **shape)
        rng = np.random.default_rng(0)
        mean, variance = rng.normal(size=len(c.start)), rng.uniform(0.5, 3.0, size=len(c.start))
        settings = Adagrad(learning_rate=0.3, floor=0.01, average=average)
        run = begin(settings, c, prior=Gaussian(variance=variance, mean=mean))
        run.step(), run.step()
        literal = online.adagrad(
            visited(run, c.examples, 2),
            c.start,
            online.likelihood,
            rate=0.3,
            floor=0.01,
            corpus=c.examples,
            mean=mean,
            precision=1 / variance,
        )
        same(run.weights, averaged(literal, average), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("shape", SHAPES[:2])
@pytest.mark.parametrize("variance", [math.inf, 0.9])
def test_cumulative_l1(shape: dict[str, Any], variance: float) -> None:
    c = case(4, **shape)
    prior: Prior = Laplacian(scale=2.0)
    if math.isfinite(variance):
        prior = ElasticNet(scale=2.0, variance=variance)
    run = begin(SGD(learning_rate=0.5), c, prior=prior)
    run.step()
    n, p = len(c.examples), 1 / variance
    decay = 0.5 * p / n if p else 0.1 / n
    options = {"rate": 0.5, "decay": decay, "n": n, "precision": p, "l1": 0.5}
    literal = online.descent(visited(run, c.examples, 1), c.start, online.likelihood, **options)
    same(run.weights, literal[-1], rel=1e-9, abs=1e-11)
    assert np.array_equal(run.weights == 0, literal[-1] == 0)


Corpus = tuple[list[Any], list[list[str]]]
OPTIONS: dict[str, Any] = {"edge_prefix": EDGE}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(11)
    return draw(rng, 4, rng.integers(0, 9, size=50), n_names=15, edges=True)


@pytest.fixture(scope="module")
def plain_corpus() -> Corpus:
    rng = np.random.default_rng(12)
    return draw(rng, 4, rng.integers(1, 9, size=50), n_names=15)


@pytest.mark.parametrize(
    ("settings", "objective", "weights"),
    [
        (SGD(**LONG), 1e-4, 0.05),
        (SGD(**LONG, average="linear"), 1e-5, 0.02),
        (Adagrad(**LONG), 1e-3, 0.1),
        (Adagrad(**LONG, average="linear"), 3e-4, 0.05),
    ],
)
def test_near_the_minimum(corpus: Corpus, settings: Any, objective: float, weights: float) -> None:
    """With edges that look at the input, which take the path without a scale."""
    prior = Gaussian(variance=2.0)
    best = ChainCRF(prior=prior, optimiser=LBFGS(**EXACT), **OPTIONS).fit(*corpus)
    crf = ChainCRF(prior=prior, optimiser=settings, **OPTIONS).fit(*corpus)
    assert 0 <= crf.objective_value_ - best.objective_value_ <= objective * best.objective_value_
    same(crf.weights_, best.weights_, rel=0, abs=weights)


@pytest.mark.parametrize("objective", ["likelihood", "pseudo_likelihood", "softmax_margin"])
def test_sag_reaches_the_minimum(plain_corpus: Corpus, objective: str) -> None:
    prior = Gaussian(variance=2.0, mean=0.1)
    options: dict[str, Any] = {"prior": prior, "objective": objective}
    best = ChainCRF(optimiser=LBFGS(**EXACT), **options).fit(*plain_corpus)
    settings = SAG(max_iterations=500, tolerance=1e-6, objective_tolerance=-1.0)
    crf = ChainCRF(optimiser=settings, **options).fit(*plain_corpus)
    assert crf.converged_
    same(crf.weights_, best.weights_, rel=1e-4, abs=1e-5)


def test_margin(plain_corpus: Corpus) -> None:
    """Not smooth: judged by the objective alone, against a long run with other orders."""
    found = [
        ChainCRF(prior=Gaussian(variance=1.0), optimiser=Subgradient(max_iterations=n, seed=s, period=1000))
        .fit(*plain_corpus)
        .objective_value_
        for n, s in ((1000, 1), (150, 0))
    ]
    assert found[1] <= found[0] * (1 + 1e-2)


@pytest.mark.parametrize("settings", [SGD(**LONG), Adagrad(**LONG)])
def test_zeros_like_owlqn(settings: Any) -> None:
    """Real-valued features are in general position: the zeros are those of the minimum."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, 3, rng.integers(2, 8, size=60), n_names=8, values=True)
    best = ChainCRF(prior=Laplacian(scale=0.5), optimiser=OWLQN(**EXACT)).fit(X, y)
    crf = ChainCRF(prior=Laplacian(scale=0.5), optimiser=settings).fit(X, y)
    assert abs(crf.objective_value_ - best.objective_value_) <= 1e-3 * best.objective_value_
    clear = (best.weights_ == 0) | (np.abs(best.weights_) > 0.02)  # those at the edge of zero may differ
    assert np.mean(clear) > 0.8
    assert np.array_equal((crf.weights_ == 0)[clear], (best.weights_ == 0)[clear])


EVERY: list[Any] = [
    SGD(max_iterations=4),
    SGD(max_iterations=4, average="linear"),
    Adagrad(max_iterations=4, learning_rate=0.2),
    SAG(max_iterations=4),
    Subgradient(max_iterations=4),
    AveragedPerceptron(max_iterations=4),
    VotedPerceptron(max_iterations=4, max_voters=5),
]


@pytest.mark.parametrize("settings", EVERY, ids=lambda s: s.name)
def test_state_goes_on_bit_for_bit(settings: Any) -> None:
    c = case(6, n=20)
    prior = None if settings.name.endswith("perceptron") else Gaussian(variance=1.0)
    objective = {"subgradient": "margin"}.get(settings.name, "likelihood" if prior else "perceptron")

    def begun() -> Any:
        return begin(settings, c, objective=objective, prior=prior)

    whole, first, second = begun(), begun(), begun()
    for _ in range(4):
        whole.step()
    first.step(), first.step()
    second.restore({name: np.array(part) for name, part in first.state().items()})
    second.step(), second.step()
    assert second.weights.tobytes() == whole.weights.tobytes()
    assert second.objective() == whole.objective()
    assert all(np.array_equal(a, b) for a, b in zip(second.state().values(), whole.state().values()))


def test_best_rate() -> None:
    for wanted in (0.1, 0.8, 0.0125):
        assert best_rate(lambda r, w=wanted: abs(math.log(r / w)), 0.1, 2.0, 20)[0] == pytest.approx(wanted)
    assert best_rate(lambda r: math.inf if r > 0.03 else 1.0, 0.1, 2.0, 20)[0] == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (SGD(learning_rate=0.0), "learning_rate is 0.0; it must be a number above 0"),
        (SGD(learning_rate=-1.0), "learning_rate is -1.0"),
        (SGD(learning_rate=math.inf), "learning_rate is inf"),
        (SGD(factor=1.0), "factor is 1.0; it must be above 1"),
        (SGD(average="last"), "average is 'last'"),
        (Adagrad(floor=0.0), "floor is 0.0"),
        (SAG(budget=0), "budget is 0"),
        (Subgradient(offset=-2.0), "offset is -2.0"),
    ],
)
def test_refused_settings(settings: Any, told: str) -> None:
    with pytest.raises(FieldcraftError, match=told):
        check_settings(settings)


def test_refusals(plain_corpus: Corpus, corpus: Corpus) -> None:
    with pytest.raises(FieldcraftError, match="budget is 10"):
        ChainCRF(optimiser=SAG(budget=10)).fit(*plain_corpus)
    n = len(ChainCRF(optimiser=LBFGS(max_iterations=0)).fit(*plain_corpus).weights_)
    with pytest.raises(FieldcraftError, match="one precision"):
        ChainCRF(prior=Gaussian(variance=np.arange(1.0, n + 1)), optimiser="sag").fit(*plain_corpus)
    with pytest.raises(FieldcraftError, match="look at the input"):
        ChainCRF(optimiser="sag", edge_prefix=EDGE).fit(*corpus)


def test_subgradient_without_a_penalty_tries_rates(plain_corpus: Corpus) -> None:
    """As good as the margin with a penalty so weak that it hardly counts."""
    free = ChainCRF(prior=None, optimiser="subgradient").fit(*plain_corpus)
    weak = ChainCRF(prior=Gaussian(variance=1e3), optimiser="subgradient").fit(*plain_corpus)
    assert free.objective_value_ < 1.1 * weak.objective_value_


def test_rates_that_are_too_large_are_told() -> None:
    X = [[{"a": 1e300}, {"b": 1e300}]]
    with pytest.raises(FieldcraftError, match="too large"):
        ChainCRF(prior=None, optimiser=SGD(learning_rate=1e10)).fit(X, [["X", "Y"]])
