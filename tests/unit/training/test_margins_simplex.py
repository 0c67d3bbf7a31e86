"""The quadratic programme over the simplex, by each solver, against SciPy."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import minimize

from fieldcraft.optimisers.simplex_qp import SOLVERS, by_pairs, resolve_solver

ALL = {**SOLVERS, "pairs": by_pairs}


@pytest.mark.parametrize("rank", [2, 6, 30])
@pytest.mark.parametrize("name", ALL)
def test_solvers_reach_the_maximum(name: str, rank: int) -> None:
    if name == "clarabel" and find_spec("clarabel") is None:
        pytest.skip("clarabel is not installed")
    rng = np.random.default_rng(rank)
    rows = rng.normal(size=(12, rank))
    rows[0] = 0.0  # the plane at zero
    quadratic, linear = rows @ rows.T, rng.normal(size=12) * 3
    start = np.eye(12)[0]
    found = ALL[name](quadratic, linear, start, 1e-10)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    expected = minimize(
        lambda a: a @ quadratic @ a / 2 - linear @ a,
        np.full(12, 1 / 12),
        jac=lambda a: quadratic @ a - linear,
        bounds=[(0, 1)] * 12,
        constraints=[{"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones((1, 12))}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert linear @ found - found @ quadratic @ found / 2 == pytest.approx(-expected.fun, abs=1e-8)


def test_a_programme_of_one_variable() -> None:
    for name in ("active_set", "pairs"):
        assert ALL[name](np.zeros((1, 1)), np.zeros(1), np.ones(1), 1e-9).tolist() == [1.0]


def test_auto_is_a_solver_that_is_there() -> None:
    expected = "active_set" if find_spec("clarabel") is None else "clarabel"
    assert resolve_solver("auto") is SOLVERS[expected]
