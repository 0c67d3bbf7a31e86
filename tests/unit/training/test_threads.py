"""1 thread = n threads, bit for bit: evaluations and whole trainings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, OWLQN, ChainCRF, Gaussian, Laplacian
from unit.training.corpora import EDGE, design_of, draw, draw_large, fused
from unit.training.test_snapshots import DUAL, OPTIMISERS, PRIORS, STOCHASTIC

THREADS = [2, 3, 7, 16]


@pytest.fixture(scope="module")
def large() -> tuple[list[Any], list[list[str]]]:
    """More than 20,000 tokens, so that an evaluation takes several rounds."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 40, size=1150)
    assert lengths.sum() > 20_000
    return draw_large(rng, 9, lengths, n_names=300, per_token=5)


@pytest.mark.parametrize("kind", [{}, {"values": True}, {"edges": True}], ids=["plain", "values", "edges"])
def test_evaluations(kind: dict[str, bool]) -> None:
    rng = np.random.default_rng(1)
    edges = kind.get("edges", False)
    X, y = draw_large(rng, 9, rng.integers(0, 60, size=900), n_names=200, **kind)
    design = design_of(X, y, 9, edges=edges)
    weights = rng.normal(size=len(design.index))
    costs = rng.gamma(2.0, size=len(X))
    once = fused(design, 9, weights, sequence_weights=costs)
    for n_jobs in THREADS:
        again = fused(design, 9, weights, sequence_weights=costs, n_jobs=n_jobs)
        assert again.value == once.value
        assert again.gradient.tobytes() == once.gradient.tobytes()


@pytest.mark.parametrize(
    ("prior", "optimiser"),
    [(Gaussian(variance=2.0), LBFGS(max_iterations=8)), (Laplacian(scale=2.0), OWLQN(max_iterations=8))],
    ids=["lbfgs", "owlqn"],
)
def test_trainings(large: tuple[list[Any], list[list[str]]], prior: Any, optimiser: Any) -> None:
    def train(n_jobs: int) -> ChainCRF:
        return ChainCRF(prior=prior, optimiser=optimiser, n_jobs=n_jobs).fit(*large)

    once = train(1)
    assert once.n_iter_ == 8
    for n_jobs in THREADS:
        again = train(n_jobs)
        assert again.weights_.tobytes() == once.weights_.tobytes()
        assert again.objective_value_ == once.objective_value_
        trace = [(r.objective, r.gradient_norm, r.evaluations) for r in again.training_log_]
        assert trace == [(r.objective, r.gradient_norm, r.evaluations) for r in once.training_log_]


IN_THREADS = ["dual_ascent", "handed_over", *(OPTIMISERS.keys() - DUAL.keys() - STOCHASTIC.keys())]


def assert_alike(large: tuple[list[Any], list[list[str]]], names: Iterable[str]) -> None:
    """Two iterations of each on one thread and on three."""
    for name in names:
        few = replace(OPTIMISERS[name], max_iterations=2)
        once, again = (ChainCRF(prior=PRIORS[name], optimiser=few, n_jobs=n).fit(*large) for n in (1, 3))
        assert again.weights_.tobytes() == once.weights_.tobytes(), name
        assert again.objective_value_ == once.objective_value_, name


@pytest.mark.filterwarnings("ignore:training stopped after")  # few passes of dual ascent
def test_batch_optimisers_and_dual_ascent(large: tuple[list[Any], list[list[str]]]) -> None:
    assert_alike(large, IN_THREADS)


def test_optimisers_that_visit_one_sequence_after_another(large: tuple[list[Any], list[list[str]]]) -> None:
    """Threads only prepare the data and take the final measurements."""
    assert_alike(large, OPTIMISERS.keys() - set(IN_THREADS))


def test_training_with_edge_features() -> None:
    rng = np.random.default_rng(4)
    X, y = draw(rng, 4, rng.integers(1, 40, size=900), edges=True, values=True)

    def train(n_jobs: int) -> bytes:
        settings = {"edge_prefix": EDGE, "optimiser": LBFGS(max_iterations=6), "n_jobs": n_jobs}
        return ChainCRF(**settings).fit(X, y).weights_.tobytes()

    assert len({train(n_jobs) for n_jobs in [1, *THREADS]}) == 1


def test_answers(large: tuple[list[Any], list[list[str]]]) -> None:
    X, y = large
    crf = ChainCRF(optimiser=LBFGS(max_iterations=4), n_jobs=1).fit(X[:200], y[:200])

    def answers() -> list[Any]:
        marginals = np.concatenate(list(crf.predict_proba(X))).tobytes()
        numbers = [crf.log_partition(X).tobytes(), crf.entropy(X).tobytes(), marginals]
        return [*numbers, crf.predict(X).tolist(), crf.sample(X[:50], 3)]

    once = answers()
    for n_jobs in (2, 7):
        crf.n_jobs = n_jobs
        assert answers() == once
