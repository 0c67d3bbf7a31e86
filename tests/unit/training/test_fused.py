"""Fused = functional: the training problem against its readable twin, a plain model, enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldcraft.design import Design
from fieldcraft.objectives import Likelihood
from fieldcraft.potentials import ChainWeights
from fieldcraft.structures.states import StateSpace
from oracles import chain as oracle
from unit.training.corpora import (
    Floats,
    Loss,
    adjoint,
    design_of,
    draw,
    draw_large,
    fused,
    plain,
    potentials,
    same,
)


def functional(
    design: Design, n_labels: int, weights: Floats, *, sequence_weights: Floats | None = None
) -> Loss:
    """potentials.py, then the objective, then the adjoint."""
    node, edge = ChainWeights.of(design.index, weights, n_labels).arrays(design.encoded)
    states = StateSpace.labels(n_labels)
    offsets, gold = design.encoded.offsets, design.gold
    found = Likelihood().value_and_gradient(states, node, edge, offsets, gold, sequence_weights)
    back = adjoint(design.index, design.encoded, found.node, found.edge, n_labels)
    return Loss(float(found.value.sum()), back)


def agree(found: Loss, expected: Loss, *, rel: float = 1e-10, abs: float = 1e-10) -> None:
    assert found.value == pytest.approx(expected.value, rel=rel, abs=abs)
    same(found.gradient, expected.gradient, rel=rel, abs=abs)


def weigh(rng: np.random.Generator, n: int) -> Floats:
    """Sequence weights with a zero among them."""
    weights = rng.gamma(2.0, size=n)
    weights[rng.integers(n)] = 0.0
    return weights


KINDS = [
    pytest.param({}, id="plain"),
    pytest.param({"values": True}, id="values"),
    pytest.param({"edges": True}, id="edges"),
    pytest.param({"values": True, "edges": True}, id="values-edges"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("features", ["supported", "all", "all_states", "all_transitions"])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 30])
def test_every_element(n_labels: int, features: str, kind: dict[str, bool]) -> None:
    rng = np.random.default_rng(n_labels)
    lengths = [3, 0, 1, 9, 2, 1, 17, 4]
    X, y = draw(rng, n_labels, lengths, n_names=6 if n_labels > 9 else 12, **kind)
    edges = kind.get("edges", False)
    design = design_of(X, y, n_labels, features=features, edges=edges)
    weights = rng.normal(size=len(design.index))
    costs = weigh(rng, len(lengths))
    for c in (None, costs):
        found = fused(design, n_labels, weights, sequence_weights=c)
        agree(found, functional(design, n_labels, weights, sequence_weights=c))
        agree(found, plain(design, n_labels, weights, sequence_weights=c))


@pytest.mark.parametrize("features", ["supported", "all"])
@pytest.mark.parametrize("size", [0.01, 20.0, 150.0, 400.0])
def test_edges_that_look_at_the_input_and_rise_above_the_others(size: float, features: str) -> None:
    """Few cells of a step are exponentiated alone, many or much larger ones with the whole matrix."""
    rng = np.random.default_rng(int(size))
    X, y = draw(rng, 17, [5, 1, 8, 3], n_names=6, edges=True)
    design = design_of(X, y, 17, features=features, edges=True)
    observed = design.index.is_edge & (design.index.attribute >= 0)
    weights = rng.normal(size=len(design.index)) * np.where(observed, size, 1.0)
    found = fused(design, 17, weights)
    agree(found, functional(design, 17, weights))
    agree(found, plain(design, 17, weights))


@pytest.mark.parametrize("n_labels", [63, 64, 70, 129, 257])
@pytest.mark.parametrize("edges", [False, True])
def test_many_labels(n_labels: int, *, edges: bool) -> None:
    rng = np.random.default_rng(n_labels)
    X, y = draw(rng, n_labels, [5, 1, 12, 3], n_names=8, edges=edges, values=True)
    design = design_of(X, y, n_labels, features="all" if not edges else "supported", edges=edges)
    weights = rng.normal(size=len(design.index))
    found = fused(design, n_labels, weights)
    agree(found, functional(design, n_labels, weights))
    agree(found, plain(design, n_labels, weights))


@pytest.mark.parametrize("edges", [False, True])
def test_several_rounds(*, edges: bool) -> None:
    """More tokens than one round of an evaluation holds (1 MiB of marginals), alone and in threads."""
    rng = np.random.default_rng(6)
    n_labels = 20
    lengths = rng.integers(0, 40, size=400)
    assert lengths.sum() * n_labels * 8 > 2**20
    X, y = draw_large(rng, n_labels, lengths, n_names=15, per_token=3, edges=edges)
    design = design_of(X, y, n_labels, edges=edges)
    weights = rng.normal(size=len(design.index))
    costs = weigh(rng, len(lengths))
    expected = plain(design, n_labels, weights, sequence_weights=costs)
    for n_jobs in (1, 3):
        found = fused(design, n_labels, weights, sequence_weights=costs, n_jobs=n_jobs)
        agree(found, expected)


@given(st.data())
@settings(max_examples=60)
def test_any_small_corpus(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_labels = data.draw(st.integers(1, 6))
    lengths = [1, *data.draw(st.lists(st.integers(0, 6), max_size=20))]
    edges, values = data.draw(st.booleans()), data.draw(st.booleans())
    X, y = draw(rng, n_labels, lengths, edges=edges, values=values, n_names=5)
    features = data.draw(st.sampled_from(["supported", "all"]))
    least = data.draw(st.integers(1, 3)) if features == "supported" else 1
    design = design_of(X, y, n_labels, features=features, edges=edges, min_count=least)
    weights = rng.normal(scale=3.0, size=len(design.index))
    agree(fused(design, n_labels, weights), plain(design, n_labels, weights))


@pytest.mark.parametrize("kind", KINDS)
def test_enumeration(kind: dict[str, bool]) -> None:
    """log Z, score and expectations of a tiny corpus with every labelling written down."""
    rng = np.random.default_rng(5)
    S = 3
    X, y = draw(rng, S, [4, 1, 3, 2], n_names=4, **kind)
    design = design_of(X, y, S, features="all", edges=kind.get("edges", False))
    weights = rng.normal(size=len(design.index))
    node, edge = potentials(design, S, weights)
    pairs = tuple((x, z) for x in range(S) for z in range(S))
    offsets = design.encoded.offsets
    losses, expected, seen = [], np.zeros((S, S)), np.zeros((S, S))
    for a, b in zip(offsets[:-1], offsets[1:]):
        rows = tuple(map(tuple, edge[a:b].reshape(-1, S * S).tolist()))
        chain = oracle.Chain(tuple(map(tuple, node[a:b].tolist())), rows, pairs, (True,) * S, (True,) * S)
        gold = tuple(design.gold[a:b].tolist())
        losses.append(oracle.log_partition(chain) - oracle.score(chain, gold))
        expected += np.array(oracle.edge_marginals(chain)).sum(axis=0).reshape(S, S)
        np.add.at(seen, (gold[:-1], gold[1:]), 1.0)
    found = fused(design, S, weights)
    assert found.value == pytest.approx(math.fsum(losses), rel=1e-12)
    index = design.index
    steps = index.attribute < 0
    by_hand = (expected - seen)[index.previous[steps], index.label[steps]]
    same(found.gradient[steps], by_hand, rel=1e-12, abs=1e-12)
    agree(found, plain(design, S, weights), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_finite_differences(kind: dict[str, bool]) -> None:
    """Central differences with one step of extrapolation: error about 1e-10 of the third derivative."""
    rng = np.random.default_rng(11)
    X, y = draw(rng, 4, [5, 2, 7], n_names=5, **kind)
    design = design_of(X, y, 4, edges=kind.get("edges", False))
    weights = rng.normal(size=len(design.index))
    costs = np.array([1.5, 0.25, 2.0])

    def at(w: Floats) -> float:
        return fused(design, 4, w, sequence_weights=costs).value

    def central(f: int, h: float) -> float:
        step = np.zeros(len(weights))
        step[f] = h
        return (at(weights + step) - at(weights - step)) / (2 * h)

    slopes = [(4 * central(f, 1e-3) - central(f, 2e-3)) / 3 for f in range(len(weights))]
    gradient = fused(design, 4, weights, sequence_weights=costs).gradient
    same(gradient, slopes, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("n_labels", [2, 5, 22])
@pytest.mark.parametrize("size", [50.0, 500.0])
@pytest.mark.parametrize("edges", [False, True])
def test_weights_that_scaled_recursions_cannot_hold(n_labels: int, size: float, *, edges: bool) -> None:
    """Weights of +-500: sums of several of them leave exp's range, and the log-space twin answers."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, n_labels, [6, 1, 30, 2], edges=edges)
    design = design_of(X, y, n_labels, features="all", edges=edges)
    weights = size * rng.choice([-1.0, 1.0], size=len(design.index))
    found = fused(design, n_labels, weights)
    expected = plain(design, n_labels, weights)
    assert np.isfinite(found.value)
    assert np.all(np.isfinite(found.gradient))
    # A score of 1e4 has an ulp of 2e-12; exp turns that into the relative error of a marginal.
    agree(found, expected, rel=1e-9, abs=1e-9)
    agree(found, functional(design, n_labels, weights), rel=1e-9, abs=1e-9)


def test_a_rescued_sequence_among_ordinary_ones() -> None:
    """One sequence in the middle has huge values; its neighbours keep the scaled path."""
    rng = np.random.default_rng(8)
    X, y = draw(rng, 4, [5] * 9, values=True)
    X[4] = [{name: 400.0 * value for name, value in item.items()} for item in X[4]]
    design = design_of(X, y, 4)
    weights = rng.normal(size=len(design.index))
    agree(fused(design, 4, weights), plain(design, 4, weights), rel=1e-9, abs=1e-9)


def test_zero_weights_count_labelings() -> None:
    rng = np.random.default_rng(0)
    lengths = [4, 0, 1, 7]
    X, y = draw(rng, 6, lengths)
    design = design_of(X, y, 6)
    found = fused(design, 6, np.zeros(len(design.index)))
    assert found.value == pytest.approx(sum(lengths) * math.log(6), rel=1e-14)


def test_repeated_sequences_are_weights() -> None:
    rng = np.random.default_rng(2)
    X, y = draw(rng, 3, [4, 2, 6, 1], edges=True, values=True)
    times = [3, 1, 2, 5]
    often_X: list[Any] = [x for x, n in zip(X, times) for _ in range(n)]
    often_y = [labels for labels, n in zip(y, times) for _ in range(n)]
    once, often = design_of(X, y, 3, edges=True), design_of(often_X, often_y, 3, edges=True)
    assert once.index.digest == often.index.digest
    weights = rng.normal(size=len(once.index))
    weighted = fused(once, 3, weights, sequence_weights=np.array(times, float))
    agree(weighted, fused(often, 3, weights), rel=1e-12, abs=1e-12)


def test_vectors_of_another_length_are_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = draw(rng, 2, [3])
    design = design_of(X, y, 2)
    with pytest.raises(ValueError, match=f"must have {len(design.index)} entries"):
        fused(design, 2, np.zeros(len(design.index) + 1))
