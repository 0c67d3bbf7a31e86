"""l2sgd beside CRFsuite's: the penalised likelihood of the weights that each returns, on real text."""

from __future__ import annotations

import ctypes
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.compat import pycrfsuite as ours

theirs = pytest.importorskip("pycrfsuite")
Data = tuple[list[list[list[str]]], list[list[str]]]


@pytest.fixture(scope="module")
def chunks(data_file: Callable[[str], Path]) -> Data:
    path = data_file("conll2000/train.txt.gz")
    corpus = fc.read(path, columns=["word", "pos", "chunk"], label="chunk")[:300]
    X = []
    for sequence in corpus:
        words, tags = sequence.columns["word"], ["<", *sequence.columns["pos"], ">"]
        near = [f"t={tags[k + 1]} b={tags[k]} a={tags[k + 2]}".split() for k in range(len(words))]
        X.append([[f"w={word}", *names] for word, names in zip(words, near)])
    return X, [list(sequence.labels) for sequence in corpus]


def objective(module: Any, data: Data, path: Path, **params: Any) -> float:
    """- sum log p(y | x) + c2 sum w^2, from the answers of the module's own tagger."""
    trainer = module.Trainer(algorithm="l2sgd", params=params, verbose=False)
    for items, labels in zip(*data):
        trainer.append(items, labels)
    trainer.train(str(path))
    tagger = module.Tagger()
    tagger.open(str(path))
    loss = 0.0
    for items, labels in zip(*data):
        tagger.set(items)
        loss -= math.log(tagger.probability(labels))
    info = tagger.info()
    squares = math.fsum(w * w for table in (info.state_features, info.transitions) for w in table.values())
    return loss + params["c2"] * squares


@pytest.mark.slow
@pytest.mark.parametrize("c2", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("passes", [10, 50, 1000])
def test_objective_beside_crfsuites(chunks: Data, tmp_path: Path, c2: float, passes: int) -> None:
    """The peer draws its order from C: after ten passes objectives differ by a tenth, so take several."""
    params = {"c2": c2, "max_iterations": passes}
    mine = objective(ours, chunks, tmp_path / "ours", **params)
    peer = []
    for seed in range(1, 6 if passes == 10 else 2):
        ctypes.CDLL(None).srand(seed)
        peer.append(objective(theirs, chunks, tmp_path / "theirs", **params))
    assert mine <= 1.01 * statistics.median(peer)


def test_the_weights_are_those_of_the_best_pass(chunks: Data) -> None:
    """With a learning rate that is too high the last pass is not the best one."""
    X, y = chunks[0][:60], chunks[1][:60]
    settings: dict[str, Any] = {"learning_rate": 2.0, "max_iterations": 12, "objective_tolerance": -1e9}
    prior = fc.Gaussian(variance=1.0)
    last = fc.ChainCRF(prior=prior, optimiser=fc.SGD(**settings)).fit(X, y)
    best = fc.ChainCRF(prior=prior, optimiser=fc.SGD(**settings, best=True)).fit(X, y)
    values = [record.objective for record in last.training_log_]
    assert min(values) < values[-1]
    assert best.objective_value_ == min(values)
    assert [r.objective for r in best.training_log_] == [min(values[: k + 1]) for k in range(12)]
    exact = -best.log_probability(X, y).sum() + 0.5 * (best.weights_**2).sum()
    assert exact == pytest.approx(min(values), rel=1e-9)
