"""Batch optimisers on CoNLL-2000 chunks: one objective, one optimum, one F.

A slice of the training data is enough to tell optimisers apart and small enough for each to finish; two of
them train on a third of it too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fieldcraft import GIS, IIS, LBFGS, BoundedLBFGS, ChainCRF, ConjugateGradient, Gaussian
from fieldcraft.evaluation.metrics import span_scores

PRIOR = Gaussian(variance=0.5)  # CRFsuite's c2 = 1
NEAR: dict[str, Any] = {"max_iterations": 2000, "tolerance": 1e-4, "objective_tolerance": 1e-7}
SMOOTH: dict[str, Any] = {
    "bounded_lbfgs": BoundedLBFGS(**NEAR),
    "polak_ribiere": ConjugateGradient(**NEAR),
    "fletcher_reeves": ConjugateGradient(**NEAR, formula="fletcher_reeves"),
    "preconditioned": ConjugateGradient(**NEAR, preconditioner="diagonal"),
}


@pytest.fixture(autouse=True)
def _data(data_file: Callable[[str], Path]) -> None:
    for name in ("train.txt.gz", "test.txt"):
        data_file(f"conll2000/{name}")


@cache
def features(split: str, n: int | None) -> tuple[list[Any], list[list[str]]]:
    workloads = pytest.importorskip("benchmarks.workloads")
    X, y = workloads.WORKLOADS["W1"].features(split)
    return X[:n], y[:n]


@cache
def reference(n: int | None) -> tuple[float, float]:
    """L-BFGS's objective and span F."""
    crf = ChainCRF(prior=PRIOR, optimiser=LBFGS(**NEAR)).fit(*features("train", n))
    return crf.objective_value_, f_of(crf)


def f_of(crf: ChainCRF) -> float:
    X, y = features("test", None)
    return float(span_scores(y, crf.predict(X)).f)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_a_slice(name: str) -> None:
    value, f = reference(500)
    crf = ChainCRF(prior=PRIOR, optimiser=SMOOTH[name]).fit(*features("train", 500))
    assert crf.objective_value_ == pytest.approx(value, rel=2e-5)
    assert f_of(crf) == pytest.approx(f, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GIS, IIS])
def test_iterative_scaling_on_a_slice(kind: Any) -> None:
    """Slower: the objective within a tenth of what there was to win, the F within 0.3 points."""
    value, f = reference(500)
    crf = ChainCRF(prior=PRIOR, optimiser=kind(max_iterations=1500)).fit(*features("train", 500))
    assert value <= crf.objective_value_ <= 1.1 * value
    assert f_of(crf) >= f - 0.003


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preconditioned", "bounded_lbfgs"])
def test_a_third_of_it(name: str) -> None:
    value, f = reference(3000)
    crf = ChainCRF(prior=PRIOR, optimiser=SMOOTH[name]).fit(*features("train", 3000))
    assert crf.objective_value_ == pytest.approx(value, rel=1e-4)
    assert f_of(crf) == pytest.approx(f, abs=1e-3)
