"""Python threads that share a model with templates, and ones that train on shared data.

The core drops the interpreter lock: `make sanitize-threads` runs these with races watched for.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc

TEMPLATES = """
    lower(word[-1..1])
    shape(word)
    suffix(lower(word), 1..3)
    lower(word[-1]) & lower(word)
    edge
"""


@pytest.fixture(scope="module")
def corpus() -> Any:
    return fc.datasets.addresses(n=120, seed=1)  # synthetic


def train(corpus: Any, *, n_jobs: int) -> fc.ChainCRF:
    optimiser = fc.LBFGS(max_iterations=4)
    return fc.ChainCRF(templates=TEMPLATES, optimiser=optimiser, n_jobs=n_jobs).fit(corpus)


def at_once(asks: list[Callable[[], Any]], *, threads: int = 8, rounds: int = 3) -> list[Any]:
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(ask) for ask in asks * rounds]
        return [future.result(300) for future in futures]


def test_threads_share_templates(corpus: Any, tmp_path: Path) -> None:
    """Words that training never saw included: encoding looks them up without changing the model."""
    crf = train(corpus, n_jobs=2)
    X = [["Unseen", "Ms", "Whitfield", "12", "Zzyzx", "Lane", str(i)] for i in range(80)]
    crf.save(tmp_path / "shared.fc")
    asks: list[Callable[[], Any]] = [
        lambda: crf.predict(X).tolist(),
        lambda: np.concatenate(list(crf.predict_proba(X))).tobytes(),
        lambda: crf.log_partition(corpus).tobytes(),
        lambda: crf.k_best(X, 2),
        lambda: crf.sample(X, 2),
        lambda: fc.load(tmp_path / "shared.fc").predict(X).tolist(),
    ]
    expected = [ask() for ask in asks]
    assert at_once(asks) == expected * 3


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_train_on_one_corpus(corpus: Any, n_jobs: int) -> None:
    alone = train(corpus, n_jobs=1).weights_.tobytes()
    found = at_once([lambda: train(corpus, n_jobs=n_jobs).weights_.tobytes()], threads=3)
    assert found == [alone] * 3
