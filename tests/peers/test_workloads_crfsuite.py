"""The benchmark's workloads at the optimum against python-crfsuite, c2 = 1 (variance 1/2).

CRFsuite's own optima were measured once by tests/peers/reference.py, which measures them again on request,
and stand in reference.json. Its weights after a few iterations, put through our objective, must give the
loss that it reports.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldcraft import LBFGS, ChainCRF, Gaussian
from fieldcraft.design import Design, build_design
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.labels import encode_labels, label_names
from fieldcraft.problems import ChainProblem
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from peers import reference

pytestmark = pytest.mark.slow
PRIOR = Gaussian(variance=0.5)
NAMES = ["W1", "W2", "W3"]
NEEDED = {
    "W1": ["conll2000/train.txt.gz", "conll2000/test.txt"],
    "W2": ["conll2003/eng.train.gz", "conll2003/eng.testb"],
    "W3": ["conll2000/train.txt.gz", "conll2000/test.txt"],
}
OPTIMUM = LBFGS(max_iterations=3000, tolerance=2e-5, objective_tolerance=-1.0)


@cache
def features(name: str, split: str) -> tuple[list[Any], list[list[str]]]:
    workloads = pytest.importorskip("benchmarks.workloads")
    found: tuple[list[Any], list[list[str]]] = workloads.WORKLOADS[name].features(split)
    return found


@cache
def optimum(name: str) -> ChainCRF:
    """Our model at its optimum."""
    return ChainCRF(prior=PRIOR, optimiser=OPTIMUM).fit(*features(name, "train"))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest, data_file: Callable[[str], Path]) -> str:
    chosen = str(request.param)
    for file in NEEDED[chosen]:
        data_file(file)
    return chosen


@pytest.fixture
def theirs(name: str) -> dict[str, Any]:
    """CRFsuite's stored optimum, of the same attributes."""
    row: dict[str, Any] = json.loads(reference.FILE.read_text())[name]
    assert reference.digest(*features(name, "train")) == row["digest"], "rerun reference.py"
    return row


def test_objective(name: str, theirs: dict[str, Any]) -> None:
    crf = optimum(name)
    assert crf.objective_value_ <= theirs["loss"] * (1 + 1e-6)
    assert crf.objective_value_ >= theirs["loss"] * (1 - 1e-4)  # lower by much would be another problem
    assert len(crf.weights_) == theirs["features"]


def test_gradient(name: str) -> None:
    """At the returned weights, evaluated afresh."""
    crf = optimum(name)
    design = design_of(*features(name, "train"))
    gradient = np.empty(len(crf.weights_))
    value = problem_of(design).value_and_gradient(crf.weights_, gradient)
    norm = math.sqrt(float(crf.weights_ @ crf.weights_))
    assert value == pytest.approx(crf.objective_value_, rel=1e-12)
    assert math.sqrt(float(gradient @ gradient)) <= 1e-4 * max(1.0, norm)


def test_tags(name: str, theirs: dict[str, Any]) -> None:
    X, _ = features(name, "test")
    ours = [label for labels in optimum(name).predict(X) for label in labels]
    expected = reference.unpack(theirs["tags"], theirs["labels"])
    assert len(ours) == len(expected)
    equal = sum(a == b for a, b in zip(ours, expected)) / len(ours)
    assert equal >= 0.9995


def design_of(X: list[Any], y: list[list[str]]) -> Design:
    encoder = FreeFeatures()
    encoded = encoder.encode(X, grow=True)
    labels = label_names(y)
    gold = encode_labels(y, labels, encoded.offsets)
    return build_design(encoder, encoded, gold, len(labels))


def problem_of(design: Design) -> ChainProblem:
    chain = LinearChain(StateSpace.labels(int(design.gold.max()) + 1))
    return ChainProblem(chain, design, PRIOR, n_jobs=2)


def placed(path: str, crf: ChainCRF) -> np.ndarray:
    """CRFsuite's weights in the order of our feature index; every one of them finds its place."""
    states, transitions = reference.weights_of(path)
    index, names = crf.features_, crf.classes_
    texts = crf.encoder_.attribute_text(range(index.n_attributes))
    weights = np.zeros(len(index))
    used = 0
    for f, (a, x, y) in enumerate(zip(index.attribute, index.previous, index.label)):
        table, key = (transitions, (names[x], names[y])) if a < 0 else (states, (texts[a], names[y]))
        if key in table:
            weights[f] = table[key]
            used += 1
    assert used == len(states) + len(transitions)
    return weights


def test_their_weights_through_our_objective(name: str, tmp_path: Path) -> None:
    X, y = features(name, "train")
    path = str(tmp_path / "model")
    loss = reference.train(X, y, path, max_iterations=12)
    crf = ChainCRF(optimiser=LBFGS(max_iterations=0)).fit(X, y)
    weights = placed(path, crf)
    problem = problem_of(design_of(X, y))
    value = problem.value_and_gradient(weights, np.empty(len(weights)))
    assert value == pytest.approx(loss, rel=1e-6)
