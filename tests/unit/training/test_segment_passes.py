"""Native passes over segments take the steps of those that call back into Python for each sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import _core
from fieldcraft.errors import FieldcraftError
from fieldcraft.objectives import OBJECTIVES, Margin
from fieldcraft.problems import build, segments
from fieldcraft.structures.segments import SegmentSpace

SEGMENTS = "segment.length\nsegment.text\nfirst(shape(word))\nlast(word)\nbefore(word)\nafter(word)"
RULES: dict[str, dict[str, Any]] = {
    "sgd": {"optimiser": fc.SGD(max_iterations=3)},
    "sgd, absolute": {"optimiser": fc.SGD(max_iterations=3), "prior": fc.Laplacian(scale=2.0)},
    "adagrad": {"optimiser": fc.Adagrad(max_iterations=3)},
    "sag": {"optimiser": fc.SAG(max_iterations=3)},
    "perceptron": {"optimiser": fc.AveragedPerceptron(max_iterations=3)},
    "voted": {"optimiser": fc.VotedPerceptron(max_iterations=3)},
    "passive-aggressive": {"optimiser": fc.PassiveAggressive(max_iterations=3)},
    "arow": {"optimiser": fc.AROW(max_iterations=3)},
    "margin": {"objective": "margin", "optimiser": fc.Subgradient(max_iterations=3)},
    "weighted margin": {
        "objective": Margin(cost={("B-A", "O"): 3.0}),
        "optimiser": fc.Subgradient(max_iterations=3),
        "label_weights": {"B-A": 2.0},
    },
    "softmax margin": {"objective": "softmax_margin", "optimiser": fc.SGD(max_iterations=3)},
}
INPUTS = ("plain", "edges", "values", "weights")


def corpus(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences with segments of two types, some of one token, one without any."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in (*rng.integers(1, 9, size=18).tolist(), 1):
        labels: list[str] = []
        while len(labels) < n:
            kind, d = rng.choice(["A", "B", "O"]), int(rng.integers(1, 4))
            labels += ["O"] if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (d - 1)]
        y.append(labels[:n])
        X.append([f"{name[-1]}{rng.integers(3)}" for name in y[-1]])
    return X, y


def trained(name: str, given: str) -> fc.SegmentCRF:
    X, y = corpus(1)
    settings = {"segment_templates": SEGMENTS, "max_length": {"A": 4, "B": 3, "O": 1}, **RULES[name]}
    templates: Any = "word\nword[-1]\nedge\nfirst\n" + ("edge: word\n" if given == "edges" else "")
    sequences: Any = X
    if given == "values":
        templates, settings["segment_templates"] = None, "segment.length"
        sequences = [[{word: 1.5, "bias": 0.5} for word in row] for row in X]
    weights = np.tile([0.0, 0.5, 2.0], 7)[: len(X)] if given == "weights" else None
    crf = fc.SegmentCRF(templates, n_jobs=1, **settings)
    return crf.fit(sequences, y, sample_weight=weights)


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", RULES)
def test_native_passes_take_the_steps_of_the_callback(
    name: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = trained(name, given)
    monkeypatch.setattr(segments, "NATIVE", ())
    monkeypatch.setattr(_core, "segment_passes", None)
    callback = trained(name, given)
    assert np.any(native.weights_ != 0)
    np.testing.assert_allclose(native.weights_, callback.weights_, rtol=1e-9, atol=1e-9)
    values = native.objective_value_, callback.objective_value_
    np.testing.assert_allclose(*values, rtol=1e-9)


@pytest.mark.parametrize("objective", ["likelihood", "perceptron", "margin", "softmax_margin"])
def test_loss_and_gradient_of_the_composed_problem(objective: str) -> None:
    X, y = corpus(2)
    crf = fc.SegmentCRF("word\nword[-1]\nedge\nedge: word\n", segment_templates=SEGMENTS, n_jobs=1)
    training = crf._training()
    training.run(X, y, control={})
    labels = training.coding.named_states(y)
    training.classes = training._labels(labels, ())
    design = training._segment_design(training._encoder(), X, labels)
    rng = np.random.default_rng(0)
    options = {"objective": OBJECTIVES[objective](), "sequence_weights": rng.gamma(1.0, size=len(X))}
    structure, prior = training.coding.structure, fc.Gaussian(variance=2.0)
    weights = rng.normal(size=len(design.index))
    found = []
    for fused in (True, False):
        problem = build(structure, "gradient", design, prior, fused=fused, **options)
        gradient = np.empty(len(weights))
        found.append((problem.value_and_gradient(weights, gradient), gradient, problem.losses(weights)))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_threads_share_the_blocks_and_add_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SMALLEST", 10)
    X, y = corpus(3)
    one, three = (fc.SegmentCRF("word\nedge", n_jobs=n).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.weights_, three.weights_)


def part(rows: int, width: int, **changed: Any) -> Any:
    """A part with one attribute at every row, and a feature for its first column."""
    given: dict[str, Any] = {
        "position_ptr": np.arange(rows + 1),
        "attributes": np.zeros(rows, np.int32),
        "values": None,
        "ptr": np.array([0, 1]),
        "column": np.zeros(1, np.int32),
        "feature": np.zeros(1, np.int32),
        "shared_column": np.zeros(0, np.int32),
        "shared_feature": np.zeros(0, np.int32),
        "width": width,
    }
    return _core.SegmentPart(**{**given, **changed})


def passes(**changed: Any) -> Any:
    """Two sequences of two tokens; one type of up to two tokens, and single ones."""
    space = SegmentSpace(["A", "O"], [2, 1])
    given: dict[str, Any] = {
        "space": space.native,
        "n_features": 1,
        "offsets": np.array([0, 2, 4]),
        "node": part(4, 3),
        "edge": part(4, space.chain.n_transitions),
        "first": part(4, 2),
        "last": part(4, 2),
        "segment": part(8, 2),
        "gold": np.array([0, 2, 1, 0], np.int32),
        "sequence_weights": None,
        "objective": "likelihood",
        "cost": None,
        "label_weights": None,
    }
    return _core.segment_passes(**{**given, **changed})


def test_what_the_core_refuses() -> None:
    assert passes().n_sequences == 2
    for changed, problem in [
        ({"gold": np.array([2, 2, 1, 0], np.int32)}, "sequence 0: its states are those of no segmentation"),
        ({"gold": np.array([0, 2, 1, 2], np.int32)}, "sequence 1"),
        ({"objective": "pointwise"}, "passes over segments have no loss pointwise"),
        ({"objective": "margin"}, "costs need a row and a column per state"),
        ({"node": part(3, 3)}, "part node has 3 rows, expected 4"),
        ({"first": part(4, 3)}, "part first has 3 columns, expected 2"),
        ({"segment": part(8, 2, feature=np.ones(1, np.int32))}, r"features\[0\] is 1"),
        ({"sequence_weights": np.ones(3)}, "one weight per sequence"),
    ]:
        with pytest.raises(ValueError, match=problem):
            passes(**changed)
    with pytest.raises(ValueError, match=r"column\[0\] is 4"):
        part(4, 3, column=np.full(1, 4, np.int32))


def test_scores_that_overflow_end_training_with_a_reason() -> None:
    X, y = corpus(0)
    huge = [[{word: 1e200} for word in row] for row in X]
    crf = fc.SegmentCRF(None, optimiser=fc.AveragedPerceptron(max_iterations=3), n_jobs=1)
    with pytest.raises(FieldcraftError, match="not finite"):
        crf.fit(huge, y)
