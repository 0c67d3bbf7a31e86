"""The threads of a prediction stay for all its parts; predictions do not depend on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.problems import crew

ASKED: dict[str, Callable[[fc.ChainCRF, Any], Any]] = {
    "labels": lambda crf, X: crf.predict(X).tolist(),
    "marginals": lambda crf, X: b"".join(p.tobytes() for p in crf.predict_proba(X)),
    "log_partition": lambda crf, X: crf.log_partition(X).tobytes(),
}


@pytest.fixture(scope="module")
def columns() -> tuple[list[dict[str, list[str]]], list[list[str]]]:
    """Synthetic: some 12,000 tokens, of which several threads get some."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, 600)
    words = [[f"w{k}" for k in rng.integers(0, 200, n)] for n in lengths]
    return [{"word": row} for row in words], [[f"y{int(w[1:]) % 5}" for w in row] for row in words]


@pytest.fixture(scope="module")
def crf(columns: Any) -> fc.ChainCRF:
    X, y = columns
    return fc.ChainCRF("word[-1..1]", optimiser=fc.LBFGS(max_iterations=3)).fit(X[:50], y[:50])


@pytest.mark.parametrize("question", ASKED)
def test_any_number_of_threads_gives_the_same_bits(question: str, crf: fc.ChainCRF, columns: Any) -> None:
    ask, X = ASKED[question], columns[0]
    expected = ask(crf.set_params(n_jobs=1), X)
    for n_jobs in (2, 3, 7, 2**31 - 1):
        assert ask(crf.set_params(n_jobs=n_jobs), X) == expected


def test_a_prediction_during_a_training_shares_its_threads(crf: fc.ChainCRF, columns: Any) -> None:
    X = columns[0]
    expected = crf.set_params(n_jobs=3).predict(X).tolist()
    with crew(3):
        assert crf.predict(X).tolist() == expected
        with crew(2):
            assert crf.predict(X).tolist() == expected
        assert crf.predict(X).tolist() == expected


@pytest.mark.alone
def test_a_child_that_is_forked_while_threads_wait_predicts_without_them(
    crf: fc.ChainCRF, columns: Any
) -> None:
    X = columns[0]
    with crew(3):
        expected = crf.set_params(n_jobs=3).predict(X).tolist()
        child = os.fork()
        if child == 0:
            os._exit(0 if crf.predict(X).tolist() == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert crf.predict(X).tolist() == expected
