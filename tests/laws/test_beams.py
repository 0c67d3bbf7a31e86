"""Beams against enumeration: kept sums, the bound on what is lost, the best path, and training."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.design import build_design, make_encoder
from fieldcraft.labels import encode_labels
from fieldcraft.problems import StateProblem, build
from fieldcraft.structures.linear_chain import LinearChain
from fieldcraft.structures.states import StateSpace
from oracles import beams as oracle

S, LENGTHS = 4, (1, 2, 5, 4)
BEAMS = [1, 2, 3, 4, 9, 0.3, 0.8, 0.99, 0.999999, None]
SPACES = {
    "labels": StateSpace.labels(S),
    "observed": StateSpace.observed(list("abcd"), ["abcdacad", "bbdaddc", "ca"]),
}


def drawn(name: str, *, per_token: bool) -> tuple[LinearChain, Any, list[tuple[Any, Any]]]:
    """A chain, potentials, and per sequence the node scores and the step of the oracle."""
    line, rng = LinearChain(SPACES[name]), np.random.default_rng(3)
    tokens, E = sum(LENGTHS), line.states.n_transitions
    node, edge = rng.normal(size=(tokens, S)) * 2, rng.normal(size=(tokens, E) if per_token else E) * 2
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    matrix = np.full((tokens, S * S), -np.inf)
    matrix[:, line.states.cells] = edge
    parts = []
    for a, b in zip(offsets, offsets[1:]):
        own = matrix[a:b].reshape(-1, S, S)
        parts.append((node[a:b].tolist(), lambda t, x, y, own=own: float(own[t, x, y])))
    return line, line.potentials(node, edge, offsets), parts


@pytest.mark.parametrize("per_token", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("beam", BEAMS)
def test_sums_bounds_and_best_paths(beam: Any, name: str, *, per_token: bool) -> None:
    line, potentials, parts = drawn(name, per_token=per_token)
    searched = line.searching(beam)
    states, mass = searched.beam
    log_z, lost = searched.beam_partition(potentials)
    free = line.log_partition(potentials)
    best, scores = searched.argmax(potentials)
    at = np.concatenate([[0], np.cumsum(LENGTHS)])
    for i, (node, step) in enumerate(parts):
        within = oracle.layers(node, step, states, mass)
        if not all(within):  # the beam has no path left, and everything is summed
            assert log_z[i] == pytest.approx(free[i], rel=1e-12)
            assert lost[i] == 0
            continue
        assert log_z[i] == pytest.approx(oracle.partition(node, step, within), rel=1e-12, abs=1e-12)
        assert lost[i] == pytest.approx(oracle.bound(node, step, within), rel=1e-9, abs=1e-15)
        assert lost[i] >= -np.expm1(log_z[i] - free[i]) - 1e-14
        paths = itertools.product(*oracle.layers(node, step, states, mass, best=True))
        expected = max(paths, key=lambda path: oracle.score(path, node, step))
        assert tuple(best[at[i] : at[i + 1]].tolist()) == expected
        assert scores[i] == pytest.approx(oracle.score(expected, node, step), rel=1e-12)
    if beam is None or (isinstance(beam, int) and beam >= S):
        np.testing.assert_allclose(log_z, free, rtol=1e-12)
        np.testing.assert_array_equal(best, line.argmax(potentials)[0])
        assert not lost.any()
        assert searched.finds_best
    else:
        assert not searched.finds_best


def test_a_beam_without_a_way_on_sums_and_searches_everything() -> None:
    """The best first state leads nowhere: a beam of one state would have no path."""
    space = StateSpace.observed(["a", "b"], [["b", "a"], ["b", "b"]])
    line = LinearChain(space, beam=1)
    potentials = line.potentials([[5.0, 0.0], [0.0, 1.0]], np.zeros(2), [0, 2])
    log_z, lost = line.beam_partition(potentials)
    assert log_z[0] == pytest.approx(np.log(1 + np.e))
    assert lost[0] == 0
    assert line.argmax(potentials)[0].tolist() == [1, 1]


X = [[[f"w={(3 * i + t * t) % 5}", f"e={t % 2}"] for t in range(2 + i % 3)] for i in range(6)]
Y = [["abcd"[(i + t * i) % 4] for t in range(len(row))] for i, row in enumerate(X)]


@pytest.mark.parametrize("edge_prefix", [None, "e="], ids=["shared", "observed"])
@pytest.mark.parametrize("beam", [1, 2, 0.9, 4, None])
def test_training(beam: Any, edge_prefix: str | None) -> None:
    """Value by enumeration, with the gold states kept; gradient by differences; all states: exact."""
    line, encoder = LinearChain(SPACES["labels"], beam=beam), make_encoder(None, edge_prefix=edge_prefix)
    encoded = encoder.encode(X, grow=True)
    gold = encode_labels(Y, list("abcd"), encoded.offsets)
    design = build_design(encoder, encoded, gold, S, structure=line)
    weights = np.random.default_rng(1).normal(size=len(design.index))
    prior: Any = fc.Gaussian(variance=10.0).resolved(design.index, None)  # type: ignore[arg-type]
    problem = build(line, "gradient", design, prior)
    slope = np.empty(len(weights))
    value = problem.value_and_gradient(weights, slope)
    for k in range(0, len(weights), 3):
        step = np.where(np.arange(len(weights)) == k, 1e-6, 0.0)
        ends = [problem.value_and_gradient(weights + s, np.empty_like(weights)) for s in (step, -step)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slope[k], rtol=1e-5, atol=1e-7)
    exact = build(LinearChain(SPACES["labels"]), "gradient", design, prior)
    free = np.empty(len(weights))
    if beam in (4, None):
        np.testing.assert_allclose(value, exact.value_and_gradient(weights, free), rtol=1e-12)
        np.testing.assert_allclose(slope, free, rtol=1e-10, atol=1e-10)
        assert problem.lost_mass == (0.0 if beam else None)
        return
    assert isinstance(problem, StateProblem)
    losses, lost = problem.losses(weights), []
    from fieldcraft.potentials import TableWeights

    potentials = TableWeights.of(design.index, weights, line).potentials(encoded)
    node, edge, offsets = line._arrays(potentials)
    rows = np.broadcast_to(edge, (len(node), S * S)).reshape(-1, S, S)
    for i, (a, b) in enumerate(zip(offsets, offsets[1:])):
        scores: Any = node[a:b].tolist(), lambda t, x, y, own=rows[a:b]: float(own[t, x, y])
        within = oracle.layers(*scores, *line.beam, always=[[y] for y in gold[a:b]])
        wanted = oracle.partition(*scores, within) - oracle.score(gold[a:b].tolist(), *scores)
        assert losses[i] == pytest.approx(wanted, rel=1e-10, abs=1e-10)
        assert losses[i] >= -1e-12
        lost.append(oracle.bound(*scores, within))
    assert problem.lost_mass == pytest.approx(np.mean(lost), rel=1e-9)
