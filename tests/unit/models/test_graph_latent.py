"""Graphs with unknown labels by EM and by gradients, contrastive divergence, and warm starts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError
from fieldcraft.objectives import ContrastiveDivergence
from fieldcraft.potentials import Parts
from fieldcraft.structures.clique_graphs import CliqueGraphs
from unit.models.test_graph_crf import CLIQUES, LABELS, graphs, loss, problem_of

PRIOR = fc.Gaussian(variance=1.0)
TIGHT: dict[str, Any] = {"tolerance": 1e-7, "objective_tolerance": 0.0}


@pytest.mark.parametrize("steps", [1, 5])
def test_em_never_raises_the_loss(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value against enumeration."""
    X = graphs(3, missing=0.5)
    problem, names = problem_of(X, monkeypatch, objective="marginal_likelihood", inference="junction_tree")
    run = fc.EM(steps=steps).start(problem, np.zeros(len(names)))
    run.begin()
    before = run.objective()
    for _ in range(8):
        if not run.step():
            break
        own = math.fsum(loss("marginal_likelihood", x, dict(zip(names, run.weights))) for x in X)
        assert run.objective() == pytest.approx(own, rel=1e-9)
        assert run.objective() <= before + 1e-9 * abs(before)
        before = run.objective()


@pytest.mark.parametrize("prior", [PRIOR, fc.Laplacian(scale=2.0)])
def test_em_ends_where_the_gradient_method_ends(prior: Any) -> None:
    X = graphs(3, missing=0.2, n=8)
    direct = fc.OWLQN if isinstance(prior, fc.Laplacian) else fc.LBFGS
    settings = {} if isinstance(prior, fc.Laplacian) else TIGHT
    settings = settings or {"objective_tolerance": 1e-9}
    found = [
        fc.GraphCRF(CLIQUES, labels=list(LABELS), prior=prior, optimiser=kind(**settings)).fit(X)
        for kind in (fc.EM, direct)
    ]
    assert found[0].objective_value_ == pytest.approx(found[1].objective_value_, rel=1e-6)
    assert found[0].objective_.name == "marginal_likelihood"


def test_em_trains_latent_states_of_chains_too() -> None:
    X = [[["a"], ["b"], ["a"]], [["b"], ["b"]], [["a"]]]
    y = [["X", "Y", "X"], ["Y", "X"], ["X"]]
    settings: dict[str, Any] = {"states": "latent:2", "prior": PRIOR}
    em = fc.ChainCRF(optimiser=fc.EM(**TIGHT), **settings).fit(X, y)
    losses = [record.objective for record in em.training_log_]
    assert all(b <= a + 1e-9 * abs(a) for a, b in zip(losses, losses[1:]))
    direct = fc.ChainCRF(optimiser=fc.LBFGS(**TIGHT), **settings).fit(X, y)
    assert em.objective_value_ == pytest.approx(direct.objective_value_, rel=1e-6)


def sweep_matrix(scores: dict[Any, float], n: int) -> Any:
    """[states, states] the probability of each labelling after a sweep, variable after variable."""
    every = list(scores)
    number = {y: i for i, y in enumerate(every)}
    total = np.eye(len(every))
    for v in range(n):
        step = np.zeros((len(every), len(every)))
        for y in every:
            turns = [(*y[:v], s, *y[v + 1 :]) for s in (0, 1)]
            odds = np.exp([scores[t] for t in turns])
            for turn, p in zip(turns, odds / odds.sum()):
                step[number[y], number[turn]] = p
        total = total @ step
    return total, number


@pytest.mark.parametrize("sweeps", [1, 3])
def test_contrastive_divergence_has_the_mean_of_its_kernel(sweeps: int) -> None:
    """The mean over many draws against the powers of the matrix of a sweep, written down."""
    rng = np.random.default_rng(0)
    pairs = [[0, 1], [1, 2], [2, 0]]
    x = fc.GraphInstance(3, {"one": ([0, 1, 2], None), "pair": (pairs, None)}, [0, 1, 1])
    n, cliques = 4_000, [fc.Clique("one"), fc.Clique("pair")]
    bound = CliqueGraphs("ab", cliques, {"one": (2,), "pair": (2, 2)}).of([x] * n)
    one, pair = rng.normal(size=(3, 2)), rng.normal(size=(3, 4))
    arrays = {"node": np.zeros((3, 2)), "one": one, "pair": pair}
    potentials = Parts({name: np.tile(array, (n, 1)) for name, array in arrays.items()}, bound.offsets)
    gold = np.array([0, 1, 1], np.int32)
    scores = {}
    for y in itertools.product((0, 1), repeat=3):
        both = sum(pair[k, 2 * y[a] + y[b]] for k, (a, b) in enumerate(pairs))
        scores[y] = sum(one[v, y[v]] for v in range(3)) + both
    matrix, number = sweep_matrix(scores, 3)
    reached = np.linalg.matrix_power(matrix, sweeps)[number[0, 1, 1]]
    expected = np.zeros((3, 4))
    for y, i in number.items():
        for k, (a, b) in enumerate(pairs):
            expected[k, 2 * y[a] + y[b]] += reached[i]
    for k, (a, b) in enumerate(pairs):
        expected[k, 2 * gold[a] + gold[b]] -= 1.0
    found = ContrastiveDivergence(sweeps).loss(bound, potentials, np.tile(gold, n), None)
    drawn = found.gradient["pair"].reshape(n, 3, 4).mean(axis=0)
    assert np.abs(drawn - expected).max() < 5 * 0.5 / math.sqrt(n)  # five standard errors


def test_contrastive_divergence_is_the_same_for_any_number_of_threads_and_seeded() -> None:
    X, few = graphs(4, n=20), fc.SGD(max_iterations=3, learning_rate=0.1)

    def weights(seed: int, n_jobs: int) -> Any:
        objective = ContrastiveDivergence(seed=seed)
        return fc.GraphCRF(CLIQUES, objective=objective, optimiser=few, n_jobs=n_jobs).fit(X).weights_

    first = weights(0, 1)
    assert first.tobytes() == weights(0, 3).tobytes()
    assert not np.array_equal(first, weights(1, 1))


def test_warm_starts() -> None:
    X = graphs(5, n=8)
    crf = fc.GraphCRF(CLIQUES, prior=PRIOR, optimiser=fc.LBFGS(**TIGHT), warm_start=True).fit(X)
    first, weights = crf.n_iter_, crf.weights_
    crf.fit(X)
    assert crf.n_iter_ <= 2 < first
    np.testing.assert_allclose(crf.weights_, weights, atol=1e-6)
    without = [
        fc.GraphInstance(x.n_variables, {k: v for k, v in x.cliques.items() if k != "map"}, x.labels)
        for x in X
    ]
    crf.set_params(optimiser=fc.LBFGS(max_iterations=0), cliques=[*CLIQUES[:2], fc.Clique("tri")])
    found = crf.fit(without).weights_
    np.testing.assert_array_equal(found[:13], weights[:13])  # "tri" has other classes, "map" is gone
    assert not found[13:].any()
    crf.set_params(labels=[*LABELS, "d"]).fit(without)
    assert not crf.weights_.any()  # of other labels nothing is kept


def test_refusals() -> None:
    with pytest.raises(InputError, match="sweeps"):
        ContrastiveDivergence(sweeps=0)
    with pytest.raises(InputError, match="lbfgs does not minimise contrastive_divergence"):
        fc.GraphCRF(CLIQUES, objective="contrastive_divergence", optimiser="lbfgs").fit(graphs(1))
    with pytest.raises(InputError, match="no operation swept"):
        fc.ChainCRF(objective="contrastive_divergence").fit([[["a"]]], [["X"]])
