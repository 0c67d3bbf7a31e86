"""sklearn-crfsuite's metrics: equal to scikit-learn's on concatenated labels, and to the original's."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

from fieldcraft.compat import metrics
from fieldcraft.errors import InputError

sklearn_metrics = pytest.importorskip("sklearn.metrics")

rng = np.random.default_rng(0)
GOLD = [rng.choice(["O", "B", "I"], size=n).tolist() for n in [4, 1, 7, 3, 0, 5]]
FOUND = [[x if rng.random() < 0.7 else "O" for x in labels] for labels in GOLD]
ROWS = [list(chain.from_iterable(side)) for side in (GOLD, FOUND)]

CASES: dict[str, dict[str, Any]] = {
    "flat_accuracy_score": {},
    "flat_precision_score": {"average": "macro", "zero_division": 0},
    "flat_recall_score": {"average": "weighted", "labels": ["B", "I"]},
    "flat_f1_score": {"average": None, "labels": ["I", "B"]},
    "flat_fbeta_score": {"beta": 0.5, "average": "micro"},
    "flat_classification_report": {"labels": ["B", "I"], "digits": 3},
}


@pytest.mark.parametrize("name", CASES)
def test_equals_scikit_learn_and_the_original(name: str) -> None:
    theirs = pytest.importorskip("sklearn_crfsuite.metrics")
    found = getattr(metrics, name)(GOLD, FOUND, **CASES[name])
    flat = getattr(sklearn_metrics, name.removeprefix("flat_"))(*ROWS, **CASES[name])
    original = getattr(theirs, name)(GOLD, FOUND, **CASES[name])
    np.testing.assert_array_equal(found, flat)
    np.testing.assert_array_equal(found, original)


def test_arrays_of_lists() -> None:
    """What predict gives."""
    array = np.empty(len(FOUND), object)
    array[:] = FOUND
    expected = metrics.flat_f1_score(GOLD, FOUND, average="macro")
    assert metrics.flat_f1_score(GOLD, array, average="macro") == expected


def test_sequence_accuracy() -> None:
    expected = sum(a == b for a, b in zip(GOLD, FOUND)) / len(GOLD)
    assert metrics.sequence_accuracy_score(GOLD, FOUND) == pytest.approx(expected, rel=1e-15)
    assert metrics.sequence_accuracy_score([], []) == 0.0
    numbers: list[Any] = [[1, 2], [3], [4]]
    assert metrics.sequence_accuracy_score(numbers, [[1, 2], [4], [4]]) == 2 / 3


RAGGED: list[tuple[Any, Any]] = [
    (GOLD, [FOUND[0][:-1], GOLD[1], [*FOUND[2], "O"], *GOLD[3:]]),
    ([["A", "B"], ["A"]], [["A"], ["A", "B"]]),
    ([["A", "B"], ["A"], []], [["A", "B"], [], []]),
    ([["A"], ["B", "B"]], [["A", "A"], ["B"]]),
]


@pytest.mark.parametrize(("gold", "found"), RAGGED)
def test_sequence_accuracy_of_ragged_pairs(gold: Any, found: Any) -> None:
    """A sequence of another length is wrong, as in the original."""
    theirs = pytest.importorskip("sklearn_crfsuite.metrics")
    assert metrics.sequence_accuracy_score(gold, found) == theirs.sequence_accuracy_score(gold, found)


def test_sequence_accuracy_differs_where_all_lengths_are_equal() -> None:
    """The original then counts tokens and divides by sequences."""
    theirs = pytest.importorskip("sklearn_crfsuite.metrics")
    pair = [["A", "B"], ["A", "A"]], [["A", "B"], ["A", "B"]]
    assert metrics.sequence_accuracy_score(*pair) == 0.5
    assert theirs.sequence_accuracy_score(*pair) == 1.5


@pytest.mark.parametrize("name", [*CASES, "sequence_accuracy_score"])
def test_numbers_of_sequences_must_agree(name: str) -> None:
    with pytest.raises(InputError):
        getattr(metrics, name)(GOLD, FOUND[:-1], **CASES.get(name, {}))


@pytest.mark.parametrize("name", CASES)
def test_lengths_must_agree(name: str) -> None:
    shifted = [FOUND[0][:-1], FOUND[1], [*FOUND[2], "O"], *FOUND[3:]]  # as many labels in all
    with pytest.raises(InputError, match="sequence 0: 3 "):
        getattr(metrics, name)(GOLD, shifted, **CASES.get(name, {}))
