"""The native problem over state spaces: equal to the composed one, and to finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import build_design, make_encoder
from fieldcraft.labels import encode_labels, encode_partial
from fieldcraft.objectives import Likelihood, MarginalLikelihood
from fieldcraft.problems import StateProblem, build
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace

NAMES = ["O", "B-X", "I-X"]


def corpus() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(0)
    y: list[list[str]] = []
    for n in rng.integers(1, 7, 12):
        y.append([])
        for _ in range(n):
            inside = ["I-X"] if y[-1] and y[-1][-1] != "O" else []
            y[-1].append(str(rng.choice(["O", "B-X", *inside])))
    return [[[f"w={rng.integers(4)}", f"e={rng.integers(3)}"] for _ in row] for row in y], y


X, Y = corpus()
SPACES = {
    "ngrams:2": StateSpace.ngrams(NAMES, 2),
    "ngrams:3": StateSpace.ngrams(NAMES, 3),
    "ngrams:2+observed": StateSpace.ngrams(NAMES, 2, observed=Y),
    "iob2": StateSpace.scheme(NAMES, "iob2"),
    "latent:2": StateSpace.latent(NAMES, 2),
    "counter": StateSpace.counter(NAMES, "O", 3),
    "automaton": StateSpace.automaton(NAMES, [{"O": 0, "B-X": 1}, {"O": 0, "B-X": 1, "I-X": 1}]),
}


@pytest.mark.parametrize("edge_prefix", [None, "e="], ids=["shared", "observed"])
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial"])
@pytest.mark.parametrize("name", SPACES)
def test_native_composed_and_finite_differences(name: str, edge_prefix: Any, *, partial: bool) -> None:
    structure, encoder = LinearChain(SPACES[name]), make_encoder(None, edge_prefix=edge_prefix)
    encoded = encoder.encode(X, grow=True)
    gold: Any = encode_labels(Y, NAMES, encoded.offsets)
    if partial or name == "latent:2":
        known = [[None if (i + t) % 4 == 0 else y for t, y in enumerate(row)] for i, row in enumerate(Y)]
        gold = encode_partial(known, NAMES, encoded.offsets)
    design = build_design(encoder, encoded, gold, 3, structure=structure)
    rng = np.random.default_rng(1)
    weights, counts = rng.normal(size=len(design.index)), rng.random(len(X)) + 0.5
    options = {
        "objective": Likelihood() if design.partial is None else MarginalLikelihood(),
        "sequence_weights": counts,
    }
    prior: Any = fc.Gaussian(variance=10.0).resolved(design.index, None)  # type: ignore[arg-type]
    native, composed = (
        build(structure, "gradient", design, prior, fused=fused, **options) for fused in (True, False)
    )
    assert isinstance(native, StateProblem)
    slopes = np.empty((2, len(weights)))
    values = [problem.value_and_gradient(weights, g) for problem, g in zip((native, composed), slopes)]
    np.testing.assert_allclose(*values, rtol=1e-10)
    np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(native.losses(weights), composed.losses(weights), rtol=1e-10, atol=1e-10)
    for k in rng.integers(0, len(weights), 5):
        step = np.where(np.arange(len(weights)) == k, 1e-5, 0.0)
        ends = [native.value_and_gradient(weights + s, np.empty_like(weights)) for s in (step, -step)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, slopes[0, k], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", SPACES)
def test_attributes_that_are_all_rare(name: str) -> None:
    """No attribute is frequent enough for a dense row."""
    structure, encoder = LinearChain(SPACES[name]), make_encoder(None)
    rare = [[[f"w={i}.{t}"] for t in range(len(row))] for i, row in enumerate(Y)]
    encoded = encoder.encode(rare, grow=True)
    gold: Any = encode_labels(Y, NAMES, encoded.offsets)
    objective: Any = Likelihood()
    if name == "latent:2":
        gold, objective = encode_partial(Y, NAMES, encoded.offsets), MarginalLikelihood()
    design = build_design(encoder, encoded, gold, 3, structure=structure)
    weights = np.random.default_rng(1).normal(size=len(design.index))
    prior: Any = fc.Gaussian(variance=10.0).resolved(design.index, None)  # type: ignore[arg-type]
    slopes = np.empty((2, len(weights)))
    values = [
        build(structure, "gradient", design, prior, fused=fused, objective=objective).value_and_gradient(
            weights, slope
        )
        for fused, slope in zip((True, False), slopes)
    ]
    np.testing.assert_allclose(*values, rtol=1e-10)
    np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-10)
