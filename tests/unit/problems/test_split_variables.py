"""Bounded L-BFGS on the two parts of each weight: what the law of its minimum does not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft import BoundedLBFGS, ChainCRF, Inequality
from fieldcraft.problems import ChainProblem
from fieldcraft.problems.split_variables import SplitProblem
from unit.training.corpora import chain_of, design_of, draw, same

N_LABELS = 4
SHORT = BoundedLBFGS(max_iterations=14)
PRIOR = Inequality(positive=0.3, negative=0.8, quadratic=3.0)
FREE = (np.array([-np.inf]), np.array([np.inf]))


def corpus(seed: int = 1) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    return draw(rng, N_LABELS, rng.integers(1, 10, size=50), n_names=30)


def problem(prior: Any = PRIOR, bounds: Any = FREE, **options: Any) -> SplitProblem:
    plain = ChainProblem(chain_of(N_LABELS), design_of(*corpus(), N_LABELS), prior, **options)
    return SplitProblem(plain, bounds)


def test_value_and_gradient() -> None:
    """At parts without overlap it is the objective; its gradient is that of finite differences anywhere."""
    split = problem()
    rng = np.random.default_rng(0)
    w = rng.normal(size=split.n_weights)
    gradient = np.empty(split.n_variables)
    value = split.value_and_gradient(split.lift(w), gradient)
    smooth = split.plain.value_and_gradient(w, np.empty(len(w)))
    assert value == pytest.approx(smooth + split.plain.l1_value(w), rel=1e-13)
    same(split.lower(split.lift(w)), w, rel=0, abs=0)
    parts, step = rng.uniform(0.1, 1.0, size=split.n_variables), 1e-5
    split.value_and_gradient(parts, gradient)
    slope, scratch = gradient.copy(), np.empty_like(gradient)
    for k in rng.choice(split.n_variables, size=12, replace=False):
        ends = [
            split.value_and_gradient(parts + d * np.eye(1, len(parts), k)[0], scratch) for d in (step, -step)
        ]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope[k], rel=1e-5, abs=1e-6)


def test_bounds_of_the_parts() -> None:
    lower, upper = np.array([-1.0, 0.5, -3.0]), np.array([2.0, 4.0, -1.0])
    n = problem().n_weights
    filled = [np.concatenate([bound, np.zeros(n - 3)]) for bound in (lower, upper)]
    low, high = problem(bounds=tuple(filled)).bounds
    assert low[:3].tolist() == [0.0, 0.5, 0.0]
    assert high[:3].tolist() == [2.0, 4.0, 0.0]
    assert low[n : n + 3].tolist() == [0.0, 0.0, 1.0]
    assert high[n : n + 3].tolist() == [1.0, 0.0, 3.0]


def test_a_mask_holds_both_parts() -> None:
    X, y = corpus()
    crf = ChainCRF(prior=PRIOR, optimiser=SHORT).fit(X, y, feature_mask=lambda index: index.count > 2)
    assert not crf.weights_[crf.features_.count <= 2].any()
    assert crf.weights_.any()


def test_one_thread_or_two() -> None:
    one, two = (ChainCRF(prior=PRIOR, optimiser=SHORT, n_jobs=n).fit(*corpus()) for n in (1, 2))
    assert one.weights_.tobytes() == two.weights_.tobytes()


@pytest.mark.parametrize("held_out", [False, True])
def test_resumed(held_out: bool, tmp_path: Path) -> None:
    X_dev, y_dev = corpus(2)
    dev: dict[str, Any] = {"X_dev": X_dev, "y_dev": y_dev, "keep_best": True} if held_out else {}
    whole = ChainCRF(prior=PRIOR, optimiser=SHORT).fit(*corpus(), **dev)
    snapshot: dict[str, Any] = {"snapshot": tmp_path / "run", "snapshot_every": 3, **dev}
    ChainCRF(prior=PRIOR, optimiser=SHORT).fit(*corpus(), **snapshot, callbacks=[lambda r: r.iteration == 8])
    resumed = ChainCRF(prior=PRIOR, optimiser=SHORT).fit(*corpus(), **snapshot, resume=True)
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert len(resumed.weights_) == len(resumed.features_)


def test_warm_start() -> None:
    crf = ChainCRF(
        prior=PRIOR, optimiser=BoundedLBFGS(tolerance=1e-6, objective_tolerance=0.0), warm_start=True
    )
    first = crf.fit(*corpus()).n_iter_
    assert crf.fit(*corpus()).n_iter_ < first / 10
