"""Chains whose transitions are a list: every answer against enumeration, over the whole table of chains."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft.structures import chain, held
from laws.cases import CASES, NUMERICS, Case, answers_of, batch_of, draw, identical, named, same
from oracles import chain as oracle

table = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(autouse=True)
def _lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transitions as lists, also where there are so few states that matrices are quicker."""
    monkeypatch.setattr(held, "is_sparse", lambda states: True)


@table
def test_log_partition_and_marginals(case: Case) -> None:
    answers = answers_of(case)
    for numerics in NUMERICS:
        with named(numerics):
            same(chain.log_partition(*batch_of(case).inputs, numerics=numerics), answers.log_partition)
            found = chain.marginals(*batch_of(case).inputs, numerics=numerics)
            same(found.node, answers.node)
            same(found.edge, answers.edge)
            totals = chain.marginals(*batch_of(case).inputs, numerics=numerics, edge_totals=True)
            same(totals.edge, answers.edge.sum(axis=0))
            same(totals.node, answers.node)


@table
def test_best_labellings_and_their_scores(case: Case) -> None:
    batch, answers = batch_of(case), answers_of(case)
    best, scores = chain.argmax(*batch.inputs)
    ranked = chain.k_best(*batch.inputs, 21)
    for i, expected in enumerate(answers.best):
        assert tuple(best[batch.rows(i)].tolist()) == expected[0][0]
        same(scores[i], expected[0][1])
        paths, values = ranked[i]
        same(values, [value for _, value in expected])
        assert [tuple(path) for path in paths.tolist()] == [path for path, _ in expected]
    same(chain.score(*batch.inputs, best), scores)
    same(chain.entropy(*batch.inputs), answers.entropy, abs=1e-11)


def test_samples_have_the_probabilities_of_the_labellings() -> None:
    batch = draw(np.random.default_rng(5), 3, [4], sparse=True)
    drawn = chain.sample(*batch.inputs, 20_000, seed=3)[0]
    marginals = chain.marginals(*batch.inputs).node
    found = np.stack([(drawn == y).mean(axis=0) for y in range(3)], axis=1)
    same(found, marginals, abs=0.02, rel=0.0)


def test_scores_that_spread_widely_are_summed_in_log_space() -> None:
    batch = draw(np.random.default_rng(6), 4, [5, 7], sparse=True, scale=300.0)
    free = chain.log_partition(*batch.inputs)
    for i in range(2):
        same(free[i], oracle.log_partition(batch.oracle(i)))
    found = chain.marginals(*batch.inputs)
    assert np.all(np.isfinite(found.node))
    same(found.node.sum(axis=1), np.ones(12))


def test_a_batch_is_the_same_for_any_number_of_threads() -> None:
    batch = draw(np.random.default_rng(7), 20, np.random.default_rng(8).integers(0, 40, 120), sparse=True)
    for threads in (2, 4):
        identical(chain.marginals(*batch.inputs, n_jobs=threads), chain.marginals(*batch.inputs))
        totals = [chain.marginals(*batch.inputs, n_jobs=n, edge_totals=True) for n in (1, threads)]
        identical(*totals)
        identical(chain.argmax(*batch.inputs, n_jobs=threads), chain.argmax(*batch.inputs))


def test_lists_and_matrices_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = draw(np.random.default_rng(9), 30, [8, 3, 12], sparse=True, forbidden=True)
    lists = chain.marginals(*batch.inputs)
    monkeypatch.setattr(held, "is_sparse", lambda states: False)
    matrices = chain.marginals(*batch.inputs)
    for one, other in zip(lists, matrices):
        same(one, other)
