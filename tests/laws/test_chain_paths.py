"""Best paths with ties, k best paths, and samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from fieldcraft.structures import chain
from laws.cases import CASES, Batch, Case, answers_of, batch_of, draw, same
from oracles import chain as oracle

table = pytest.mark.parametrize("case", CASES, ids=str)
SMALL = [case for case in CASES if case.n_states == 3]


def with_ties(n_states: int, seed: int, *, shared: bool, sparse: bool) -> Batch:
    """Potentials of 0, 1 and 2, which add up without rounding."""
    rng = np.random.default_rng(seed)
    batch = draw(rng, n_states, [1, 2, 0, 3, 4, 5], shared=shared, sparse=sparse)
    node = rng.integers(0, 3, size=batch.node.shape).astype(float)
    return replace(batch, node=node, edge=rng.integers(0, 2, size=batch.edge.shape).astype(float))


ties = pytest.mark.parametrize(
    "batch",
    [with_ties(n, seed, shared=seed % 2 == 0, sparse=seed >= 4) for n in (1, 2, 3, 4) for seed in range(8)],
    ids=lambda batch: f"S{len(batch.starts)}",
)


@ties
def test_ties_go_to_the_lowest_state_from_the_end(batch: Batch) -> None:
    states, values = chain.argmax(*batch.inputs)
    for i in range(len(batch.lengths)):
        path, value = oracle.argmax(batch.oracle(i))
        assert tuple(states[batch.rows(i)].tolist()) == path
        assert values[i] == value


@pytest.mark.parametrize("n_states", [9, 22, 65])
def test_ties_among_many_states(n_states: int) -> None:
    """All equal: state 0 throughout; then every state but two is a little worse."""
    batch = draw(np.random.default_rng(0), n_states, [4, 1, 6])
    flat = replace(batch, node=np.zeros_like(batch.node), edge=np.zeros_like(batch.edge))
    assert not chain.argmax(*flat.inputs)[0].any()
    flat.node[:, [n_states - 1, n_states // 2]] = 1.0
    assert (chain.argmax(*flat.inputs)[0] == n_states // 2).all()


@ties
@pytest.mark.parametrize("k", [1, 4, 50])
def test_k_best_with_ties(batch: Batch, k: int) -> None:
    """Scores are the k largest, paths differ and score what they say; the first is argmax."""
    states, _ = chain.argmax(*batch.inputs)
    for i, (paths, values) in enumerate(chain.k_best(*batch.inputs, k)):
        exact = batch.oracle(i)
        assert values.tolist() == [value for _, value in oracle.k_best(exact, k)]
        assert [oracle.score(exact, tuple(path)) for path in paths.tolist()] == values.tolist()
        assert len(set(map(tuple, paths.tolist()))) == len(paths)
        assert np.array_equal(paths[0], states[batch.rows(i)])


@table
def test_k_best_begins_with_argmax_and_falls(case: Case) -> None:
    batch = batch_of(case)
    states, best = chain.argmax(*batch.inputs)
    for i, (paths, values) in enumerate(chain.k_best(*batch.inputs, 7)):
        assert np.array_equal(paths[0], states[batch.rows(i)])
        same(values[0], best[i])
        assert (np.diff(values) <= 0).all()
        assert len({tuple(path) for path in paths.tolist()}) == len(paths)


@pytest.mark.parametrize("case", [case for case in CASES if case.n_states <= 3], ids=str)
def test_k_best_of_everything_is_the_partition(case: Case) -> None:
    """Asked for more labelings than there are, it gives all: they sum to Z."""
    batch = batch_of(case)
    for i, (paths, values) in enumerate(chain.k_best(*batch.inputs, 1000)):
        assert paths.shape == (len(oracle.labelings(batch.oracle(i))), batch.lengths[i])
        same(np.logaddexp.reduce(values), answers_of(case).log_partition[i])


def test_k_best_of_many_states() -> None:
    """Against listing every path of two tokens over 44 states."""
    batch = draw(np.random.default_rng(3), 44, [2])
    ((paths, values),) = chain.k_best(*batch.inputs, 100)
    scores = batch.node[0][:, None] + batch.edge.reshape(44, 44) + batch.node[1][None, :]
    order = np.argsort(-scores, axis=None)[:100]
    same(values, scores.ravel()[order])
    assert np.array_equal(paths, np.stack(np.divmod(order, 44), axis=1))


def excess(drawn: NDArray[np.int32], exact: oracle.Chain, *, chance: float = 1e-6) -> float:
    """Chi-square of whole labelings over the bound that chance exceeds once in a million.

    Labelings expected less than five times share one cell.
    """
    counts = Counter(map(tuple, drawn.tolist()))
    expected = {path: p * len(drawn) for path, p in oracle.distribution(exact).items()}
    assert set(counts) <= set(expected), "a labelling that has no finite score was drawn"
    often = [path for path, n in expected.items() if n >= 5]
    seen = np.array([counts[path] for path in often], dtype=float)
    due = np.array([expected[path] for path in often])
    rest = len(drawn) - due.sum()
    if rest > 1e-6:
        seen, due = np.append(seen, len(drawn) - seen.sum()), np.append(due, rest)
    if len(due) == 1:
        return 0.0
    return float(((seen - due) ** 2 / due).sum() / chi2.isf(chance, len(due) - 1))


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_samples_follow_the_distribution(case: Case) -> None:
    batch = batch_of(case)
    for i, drawn in enumerate(chain.sample(*batch.inputs, 20_000, seed=11)):
        assert (drawn.shape, drawn.dtype) == ((20_000, batch.lengths[i]), np.int32)
        assert excess(drawn, batch.oracle(i)) < 1.0


@pytest.mark.parametrize("case", [case for case in SMALL if not case.sparse], ids=str)
def test_the_bound_on_samples_can_fail(case: Case) -> None:
    """Samples of a chain with one weight moved by 0.2 are told apart from the chain's own."""
    batch = batch_of(case)
    moved = replace(batch, node=batch.node + np.array([0.2, 0.0, 0.0]))
    drawn = chain.sample(*moved.inputs, 20_000, seed=11)
    assert max(excess(drawn[i], batch.oracle(i)) for i in range(len(drawn))) > 1.0


def test_sample_frequencies_match_marginals() -> None:
    """Many states: each frequency within five standard errors of its marginal, most within two."""
    batch = draw(np.random.default_rng(5), 22, [6, 4], sparse=True)
    expected = chain.marginals(*batch.inputs).node
    drawn = np.concatenate(chain.sample(*batch.inputs, 4000, seed=2), axis=1)
    seen = np.stack([(drawn == s).mean(axis=0) for s in range(22)], axis=1)
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(seen - expected) <= 5 * error + 1e-9).all()
    assert (np.abs(seen - expected) <= 2 * error + 1e-9).mean() > 0.9


def test_samples_come_from_the_seed_alone() -> None:
    batch = draw(np.random.default_rng(6), 4, [3, 0, 9, 5, 2, 7])
    first = chain.sample(*batch.inputs, 50, seed=3)
    again = chain.sample(*batch.inputs, 50, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    other = chain.sample(*batch.inputs, 50, seed=4)
    assert all(not np.array_equal(a, b) for a, b in zip(first, other) if a.size)


def test_draws_are_independent_of_one_another() -> None:
    """One draw and the next, one sequence and its twin, one seed and the next: all pairs alike."""
    batch = draw(np.random.default_rng(9), 2, [1, 1], scale=0.2)
    twin = replace(batch, node=np.repeat(batch.node[:1], 2, axis=0))
    a, b = (drawn[:, 0] for drawn in chain.sample(*twin.inputs, 20_000, seed=1))
    c = chain.sample(*twin.inputs, 20_000, seed=2)[0][:, 0]
    p = chain.marginals(*twin.inputs).node[0]
    due = 20_000 * np.outer(p, p).ravel()
    for left, right in ((a[:-1], a[1:]), (a, b), (a, c), (b[1:], a[:-1])):
        seen = np.bincount(2 * left + right, minlength=4)
        assert ((seen - due) ** 2 / due).sum() < chi2.isf(1e-6, 3)


def test_samples_of_large_weights() -> None:
    """Potentials in the thousands leave one labelling: the best."""
    batch = batch_of(Case(4, False, False, True))
    batch = replace(batch, node=batch.node * 5000.0, edge=batch.edge * 5000.0)
    states, _ = chain.argmax(*batch.inputs)
    for i, drawn in enumerate(chain.sample(*batch.inputs, 5, seed=0)):
        assert (drawn == states[batch.rows(i)]).all()
