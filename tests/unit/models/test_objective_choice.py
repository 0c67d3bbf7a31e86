"""Objectives chosen on the estimator: costs, label weights, sequence weights, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.structures.clique_graphs import BoundGraphs
from laws.cases import OF_CHAINS
from unit.training.corpora import draw

SMOOTH = sorted(name for name, kind in OF_CHAINS.items() if kind.smooth)
WEIGHED = sorted(name for name, kind in OF_CHAINS.items() if kind.smooth and kind.weighs_labels)
HARD = sorted(name for name, kind in OF_CHAINS.items() if not kind.smooth)
O = fc.objectives  # noqa: E741


def corpus(seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    return draw(rng, 3, rng.integers(1, 8, size=40).tolist(), n_names=8)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_objectives_train_to_a_flat_place(name: str) -> None:
    X, y = corpus()
    tight = fc.LBFGS(tolerance=1e-7, objective_tolerance=0.0)
    crf = fc.ChainCRF(objective=name, prior=fc.Gaussian(variance=1.0), optimiser=tight).fit(X, y)
    assert crf.objective_.name == name
    assert crf.converged_
    # values have rounding errors of 1e-16 of their size; slopes of the exponential ones are as large
    assert crf.training_log_[-1].gradient_norm < 1e-7 * max(10.0, crf.objective_value_)


@pytest.mark.parametrize("name", SMOOTH)
def test_sequence_weights_are_repetitions(name: str) -> None:
    X, y = corpus()
    times = np.random.default_rng(1).integers(1, 4, size=len(X))
    told: dict[str, Any] = {
        "objective": name,
        "prior": fc.Gaussian(variance=1.0),
        "optimiser": fc.LBFGS(max_iterations=5, tolerance=0, objective_tolerance=-1),
    }
    weighted = fc.ChainCRF(**told).fit(X, y, sample_weight=times)
    often = [(s, g) for s, g, n in zip(X, y, times) for _ in range(n)]
    repeated = fc.ChainCRF(**told).fit([s for s, _ in often], [g for _, g in often])
    assert weighted.objective_value_ == pytest.approx(repeated.objective_value_, rel=1e-8)


@pytest.mark.parametrize("name", WEIGHED)
def test_label_weights_move_predictions_towards_the_label(name: str) -> None:
    X, y = corpus()
    plain = fc.ChainCRF(objective=name, prior=fc.Gaussian(variance=0.2)).fit(X, y)
    heavy = fc.ChainCRF(objective=name, prior=fc.Gaussian(variance=0.2), label_weights={"L002": 20.0}).fit(
        X, y
    )

    def share(crf: fc.ChainCRF) -> float:
        return float(np.mean([label == "L002" for labels in crf.predict(X) for label in labels]))

    assert share(heavy) > share(plain)


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_of_one_change_nothing(name: str) -> None:
    X, y = corpus()
    plain = fc.ChainCRF(objective=name).fit(X, y)
    ones = fc.ChainCRF(objective=name, label_weights={"L000": 1}).fit(X, y)
    assert np.array_equal(plain.weights_, ones.weights_)


def test_balanced_is_scikit_learns() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    X, y = corpus()
    flat = np.array([label for labels in y for label in labels])
    names = np.unique(flat)
    by_hand = dict(zip(names.tolist(), compute_class_weight("balanced", classes=names, y=flat).tolist()))
    told: dict[str, Any] = {"objective": "pointwise"}
    one = fc.ChainCRF(**told, label_weights="balanced").fit(X, y)
    other = fc.ChainCRF(**told, label_weights=by_hand).fit(X, y)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-12)


def test_costs_by_matrix_and_by_name_are_the_same() -> None:
    X, y = corpus()
    matrix = 1.0 - np.eye(3)
    matrix[0, 2] = 4.0
    one = fc.ChainCRF(objective=O.SoftmaxMargin(cost=matrix)).fit(X, y)
    other = fc.ChainCRF(objective=O.SoftmaxMargin(cost={("L000", "L002"): 4.0})).fit(X, y)
    assert np.array_equal(one.weights_, other.weights_)
    hamming = fc.ChainCRF(objective="softmax_margin").fit(X, y)
    assert not np.array_equal(one.weights_, hamming.weights_)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "wrong size": (
        {"objective": O.Margin(cost=np.zeros((2, 2))), "optimiser": "smo"},
        r"cost has shape \(2, 2\) for 3 labels; give",
    ),
    "no matrix": ({"objective": O.SoftmaxMargin(cost=object())}, "is a object that is no matrix of numbers"),
    "ragged": ({"objective": O.SoftmaxMargin(cost=[[0, 1], [0]])}, "no matrix of numbers"),
    "negative": (
        {"objective": O.SoftmaxMargin(cost=-(1 - np.eye(3)))},
        r"cost\[0, 1\] is -1.0; costs must be",
    ),
    "nan": (
        {"objective": O.SoftmaxMargin(cost=np.full((3, 3), np.nan))},
        r"cost\[0, 0\] is nan; costs must be",
    ),
    "diagonal": (
        {"objective": O.SoftmaxMargin(cost=np.ones((3, 3)))},
        r"cost\[0, 0\] is 1.0; the right label",
    ),
    "a name": ({"objective": O.SoftmaxMargin(cost="edit")}, "cost='edit'; give 'hamming'"),
    "no pair": ({"objective": O.SoftmaxMargin(cost={"L000": 2})}, "keys are pairs"),
    "no label": (
        {"objective": O.SoftmaxMargin(cost={("L000", "L9"): 2})},
        "'L9', which is no label; the labels",
    ),
    "no number": ({"objective": O.SoftmaxMargin(cost={("L000", "L001"): "x"})}, "costs are numbers"),
    "unknown objective": (
        {"objective": "hinge"},
        "objective='hinge'; give None, an objective or one of likelihood",
    ),
    "weights without sense": ({"label_weights": {"L000": 2}}, "no meaning for the objective likelihood"),
    "weight of no label": ({"objective": "pointwise", "label_weights": {"Q": 1}}, "'Q', which is no label"),
    "negative weight": (
        {"objective": "pointwise", "label_weights": {"L000": -1}},
        "weights are finite numbers",
    ),
    "no weights": ({"objective": "pointwise", "label_weights": 3}, "give None, 'balanced' or a dict"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """One clear error, before X is looked at: it is no list of sequences at all."""
    settings, message = REFUSED[name]
    _, y = corpus()
    with pytest.raises(fc.FieldcraftError, match=message):
        fc.ChainCRF(**settings).fit([None] * len(y), y)


@pytest.mark.parametrize("name", HARD)
def test_what_has_kinks_is_not_for_l_bfgs(name: str) -> None:
    X, y = corpus()
    with pytest.raises(fc.FieldcraftError, match=f"lbfgs does not minimise {name}"):
        fc.ChainCRF(objective=name, optimiser="lbfgs").fit(X, y)


def test_clones_and_pickles_keep_their_objective() -> None:
    X, y = corpus()
    crf = fc.ChainCRF(objective=O.SoftmaxMargin(cost={("L000", "L002"): 4.0}), label_weights={"L001": 2.0})
    again = clone(crf).fit(X, y)
    copy = pickle.loads(pickle.dumps(again))
    assert copy.objective.cost == {("L000", "L002"): 4.0}
    assert copy.label_weights == {"L001": 2.0}
    assert copy.predict(X).tolist() == again.predict(X).tolist()


def test_names_by_structure_are_those_that_train() -> None:
    assert set(O.FOR_CHAINS) == set(OF_CHAINS)
    for name, kind in O.OBJECTIVES.items():
        assert (name in O.FOR_GRAPHS) == all(hasattr(BoundGraphs, needed) for needed in kind.needs)


def test_a_structure_without_the_operations_names_the_rest() -> None:
    X, y = [["a", "b"]], [["B-X", "O"]]
    with pytest.raises(InputError, match="segments has no operation log_marginals.*use likelihood, ") as it:
        fc.SegmentCRF("word", objective="pointwise").fit(X, y)
    assert "pseudo_likelihood" not in str(it.value)
    assert "softmax_margin, viterbi or marginal_likelihood" in str(it.value)
