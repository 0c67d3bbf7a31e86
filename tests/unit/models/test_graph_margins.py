"""Margins of graphs with a duality gap, by exact and by relaxed inference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from unit.models.test_graph_crf import CLIQUES, LABELS, graphs, loss, problem_of

PRIOR = fc.Gaussian(variance=1.0)


def chains(seed: int = 0, n: int = 12) -> tuple[list[fc.GraphInstance], list[Any], list[Any]]:
    """Chains as graphs, and as sequences with labels."""
    rng = np.random.default_rng(seed)
    X, sequences, y = [], [], []
    for length in rng.integers(2, 5, n).tolist():
        states = rng.integers(0, 3, length)
        rows = np.eye(3)[states] + rng.normal(scale=0.7, size=(length, 3))
        y.append([LABELS[s] for s in states])
        edges = np.stack([np.arange(length - 1), np.arange(1, length)], 1)
        X.append(fc.GraphInstance(length, {"word": (np.arange(length), rows), "edge": (edges, None)}, y[-1]))
        sequences.append([{f"f{j}": float(v) for j, v in enumerate(row)} for row in rows])
    return X, sequences, y


@pytest.mark.parametrize(
    "optimiser",
    [fc.FrankWolfe(gap=2e-2), fc.FrankWolfe(gap=2e-2, average=True), fc.CuttingPlane(gap=1e-3)],
    ids=["frank_wolfe", "average", "cutting_plane"],
)
def test_the_gap_leads_to_the_optimum_of_a_chain(optimiser: Any) -> None:
    X, sequences, y = chains(n=6)
    graph = fc.GraphCRF(["word", "edge"], objective="margin", prior=PRIOR, optimiser=optimiser).fit(X)
    exact = fc.SMO(gap=1e-7, max_iterations=5000)
    chain = fc.ChainCRF(objective="margin", prior=PRIOR, optimiser=exact, features="all").fit(sequences, y)
    last = graph.training_log_[-1]
    assert last.gap is not None
    assert 0.0 <= last.gap <= optimiser.gap * graph.objective_value_
    least = chain.objective_value_ * (1 - 1e-7)
    assert graph.objective_value_ - last.gap <= chain.objective_value_ + 1e-9
    assert least - 1e-9 <= graph.objective_value_ <= chain.objective_value_ + last.gap


def test_the_dual_never_falls() -> None:
    crf = fc.GraphCRF(CLIQUES, objective="margin", prior=PRIOR, optimiser=fc.FrankWolfe(max_iterations=30))
    records = crf.fit(graphs(3)).training_log_
    duals = [one.objective - (one.gap or 0.0) for one in records]
    assert all(b >= a - 1e-9 * abs(a) for a, b in zip(duals, duals[1:]))
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("optimiser", [fc.FrankWolfe, fc.CuttingPlane])
def test_masks_weights_and_means(optimiser: Any) -> None:
    """What the primal counts, the dual counts too: the gap closes."""
    X, _, _ = chains(1, 6)
    prior = fc.Gaussian(variance=0.5, mean=0.2)
    crf = fc.GraphCRF(["word", "edge"], objective="margin", prior=prior, optimiser=optimiser(gap=2e-2))
    weights = np.linspace(0.5, 2.0, len(X))
    crf.fit(X, sample_weight=weights, feature_mask=lambda index: np.arange(len(index)) % 5 > 0)
    assert crf.stop_reason_ == "duality gap small enough"
    assert not crf.weights_[::5].any()


def test_a_training_by_planes_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    def fitted(passes: int, **options: Any) -> Any:
        optimiser = fc.FrankWolfe(max_iterations=passes, gap=0.0, average=True)
        crf = fc.GraphCRF(CLIQUES, objective="margin", prior=PRIOR, optimiser=optimiser)
        return crf.fit(graphs(3), **options)

    class Stop:
        def __call__(self, record: Any) -> bool:
            return bool(record.iteration == 4)

    fitted(9, snapshot=tmp_path / "s", snapshot_every=2, callbacks=[Stop()])
    again = fitted(9, snapshot=tmp_path / "s", resume=True)
    assert again.weights_.tobytes() == fitted(9).weights_.tobytes()


def test_the_relaxed_margin_is_exact_on_forests_and_an_upper_bound_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = graphs(3)
    margin = fc.objectives.Margin(relaxed=True)
    problem, names = problem_of(X, monkeypatch, objective=margin)
    rng = np.random.default_rng(5)
    gradient, other = np.empty(len(names)), np.empty(len(names))
    for _ in range(3):
        weights, further = rng.normal(size=(2, len(names)))
        value = problem.loss(weights, gradient)
        assert value >= sum(loss("margin", x, dict(zip(names, weights))) for x in X) - 1e-7
        bound = value + gradient @ (further - weights)  # a sub-gradient of a convex function
        assert problem.loss(further, other) >= bound - 1e-6
    chain, _, _ = chains(2, 5)
    settings: dict[str, Any] = {"prior": PRIOR, "optimiser": fc.CuttingPlane(gap=1e-4)}
    exact = fc.GraphCRF(["word", "edge"], objective="margin", **settings).fit(chain)
    relaxed = fc.GraphCRF(["word", "edge"], objective=margin, **settings).fit(chain)
    assert relaxed.objective_value_ == pytest.approx(exact.objective_value_, rel=2e-4)  # their gaps


def test_a_frustrated_triangle_is_worth_more_relaxed() -> None:
    """Three labels of two kinds cannot all differ; halves of both do, and so does the relaxed maximum."""
    clique = fc.Clique("pair", "same")
    x = fc.GraphInstance(3, {"pair": ([[0, 1], [1, 2], [2, 0]], None)}, ["a", "b", "a"])
    from fieldcraft.potentials import Parts
    from fieldcraft.structures.clique_graphs import CliqueGraphs

    bound = CliqueGraphs("ab", [clique], {"pair": (2, 2)}).of([x])
    apart = Parts({"node": np.zeros((1, 2)), "pair": np.array([[0.0, 1.0]])}, bound.offsets)
    potentials = bound.expand(apart)
    value, where = bound.relaxation(potentials)
    assert value[0] == pytest.approx(3.0)
    assert bound.argmax(potentials)[1][0] == pytest.approx(2.0)
    np.testing.assert_allclose(where["pair"], [[0.0, 0.5, 0.5, 0.0]] * 3, atol=1e-9)


def test_two_labels_that_attract_each_other_are_cut() -> None:
    """An associative grid that is too wide for a junction tree of so little memory."""
    rng = np.random.default_rng(0)
    side = 8
    at = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2), np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)]
    )
    X = []
    for _ in range(6):  # synthetic: halves of an image
        truth = (np.arange(side) < rng.integers(2, 7))[None].repeat(side, 0).reshape(-1).astype(int)
        seen = truth + rng.normal(scale=0.8, size=len(truth))
        rows = np.stack([np.ones(len(truth)), seen], 1)
        X.append(fc.GraphInstance(len(truth), {"seen": (at.reshape(-1), rows), "pair": (pairs, None)}, truth))
    narrow = {"method": "auto", "memory": 4096}
    crf = fc.GraphCRF(
        ["seen", fc.Clique("pair", "same")],
        objective="margin",
        decoding=narrow,
        prior=PRIOR,
        optimiser=fc.FrankWolfe(max_iterations=20),
    ).fit(X)
    found = crf._ask_graphs(X, lambda of, w: of.structure.decodings(of.potentials(w)))
    assert {one.method for one in found} == {"cuts"}
    assert all(one.optimal for one in found)
    assert crf.score(X) > 0.9


@pytest.mark.parametrize("tying", ["same", "agreement"])
def test_attractive_templates_keep_their_signs(tying: str, tmp_path: Path) -> None:
    """Labels that repel each other: without bounds the weights say so, with them they end at zero."""
    pair = {"pair": ([[0, 1], [1, 2]], [[1.0, 0.5], [2.0, 0.0]])}
    X = [
        fc.GraphInstance(3, {"x": ([0, 1, 2], np.eye(2)[states]), **pair}, np.array(["a", "b"])[states])
        for states in ([0, 1, 0], [1, 0, 1], [0, 1, 1])
    ]
    settings: dict[str, Any] = {"objective": "margin", "prior": PRIOR}
    optimiser = fc.FrankWolfe(gap=1e-3, max_iterations=300)
    free = fc.GraphCRF(["x", fc.Clique("pair", tying)], optimiser=optimiser, **settings).fit(X)
    bound = fc.GraphCRF(
        ["x", fc.Clique("pair", tying, attractive=True)], decoding="cuts", optimiser=optimiser, **settings
    ).fit(X)
    equal, apart = bound.weights_[4::2], bound.weights_[5::2]
    assert free.weights_[4:].min() < -0.01
    assert equal.min() >= 0
    assert (apart.max() <= 0) if tying == "same" else (apart.min() >= 0)
    assert bound.objective_value_ >= free.objective_value_ - (free.training_log_[-1].gap or 0.0)
    records = bound.training_log_
    duals = [one.objective - (one.gap or 0.0) for one in records]
    assert all(b >= a - 1e-9 for a, b in zip(duals, duals[1:]))
    assert (records[-1].gap or 0.0) <= 0.02 * bound.objective_value_
    bound.save(tmp_path / "m.fc")
    loaded: Any = fc.load(tmp_path / "m.fc")
    assert loaded.cliques_[1].attractive


def test_refusals_of_attractive_templates() -> None:
    x = fc.GraphInstance(2, {"pair": ([[0, 1]], [[-1.0]])}, ["a", "b"])
    clique = fc.Clique("pair", "same", attractive=True)
    with pytest.raises(InputError, match="an observation is negative"):
        fc.GraphCRF([clique], objective="margin", optimiser="frank_wolfe", prior=PRIOR).fit([x])
    with pytest.raises(InputError, match="lbfgs does not keep the signs"):
        fc.GraphCRF([clique]).fit([x])
    with pytest.raises(InputError, match="cutting_plane does not keep the signs"):
        fc.GraphCRF([clique], objective="margin", optimiser="cutting_plane", prior=PRIOR).fit([x])
    with pytest.raises(InputError, match="attractive=True needs"):
        fc.Clique("pair", "full", attractive=True)


def test_a_relaxed_margin_is_stored(tmp_path: Path) -> None:
    X, _, _ = chains(3, 3)
    objective = fc.objectives.Margin(relaxed=True)
    crf = fc.GraphCRF(["word", "edge"], objective=objective, prior=PRIOR, optimiser="cutting_plane").fit(X)
    crf.save(tmp_path / "m.fc")
    loaded: Any = fc.load(tmp_path / "m.fc")
    assert loaded.objective_.relaxed is True


@pytest.mark.parametrize(
    ("optimiser", "why"),
    [
        ("smo", "graphs do not have"),
        ("exponentiated_gradient", "graphs do not have"),
        (fc.CuttingPlane(slack="n"), "slack='one'"),
        (fc.FrankWolfe(budget=1), "more than its budget of 1 MB"),
    ],
)
def test_refusals(optimiser: Any, why: str) -> None:
    X = graphs(1)
    if isinstance(optimiser, fc.FrankWolfe):
        wide = np.ones((1, 50_000))
        X = [fc.GraphInstance(1, {"x": ([0], wide)}, [label]) for label in LABELS]
    cliques = ["x"] if len(X[0].cliques) == 1 else CLIQUES
    with pytest.raises(InputError, match=why):
        fc.GraphCRF(cliques, objective="margin", prior=PRIOR, optimiser=optimiser).fit(X)


def test_chains_have_no_relaxation() -> None:
    with pytest.raises(InputError, match="no operation relaxation"):
        fc.ChainCRF(objective=fc.objectives.Margin(relaxed=True)).fit([[["a"]]], [["X"]])
