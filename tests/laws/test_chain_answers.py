"""Every element of every answer about a chain, against enumeration, over the whole table."""

from __future__ import annotations

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import CASES, JOBS, NUMERICS, Case, answers_of, batch_of, draw, enumerate_all, same
from oracles import chain as oracle

table = pytest.mark.parametrize("case", CASES, ids=str)
numerics = pytest.mark.parametrize("numerics", NUMERICS)
jobs = pytest.mark.parametrize("n_jobs", JOBS)


@table
@numerics
@jobs
def test_log_partition(case: Case, numerics: str, n_jobs: int) -> None:
    values = chain.log_partition(*batch_of(case).inputs, n_jobs=n_jobs, numerics=numerics)
    assert values.dtype == np.float64
    same(values, answers_of(case).log_partition)


@table
@numerics
@jobs
def test_marginals(case: Case, numerics: str, n_jobs: int) -> None:
    found = chain.marginals(*batch_of(case).inputs, n_jobs=n_jobs, numerics=numerics)
    answers = answers_of(case)
    assert {part.dtype for part in found} == {np.dtype("f8")}
    same(found.node, answers.node)
    same(found.edge, answers.edge)
    same(found.log_partition, answers.log_partition)


@table
@numerics
def test_edge_totals(case: Case, numerics: str) -> None:
    found = chain.marginals(*batch_of(case).inputs, edge_totals=True, numerics=numerics)
    answers = answers_of(case)
    same(found.edge, answers.edge.sum(axis=0))
    same(found.node, answers.node)
    same(found.log_partition, answers.log_partition)


@table
@jobs
def test_argmax(case: Case, n_jobs: int) -> None:
    batch, answers = batch_of(case), answers_of(case)
    states, values = chain.argmax(*batch.inputs, n_jobs=n_jobs)
    assert (states.dtype, values.dtype) == (np.int32, np.float64)
    same(values, [best[0][1] for best in answers.best])
    for i, best in enumerate(answers.best):
        assert tuple(states[batch.rows(i)].tolist()) == best[0][0]


@table
@pytest.mark.parametrize("k", [1, 3, 20])
def test_k_best(case: Case, k: int) -> None:
    batch, answers = batch_of(case), answers_of(case)
    found = chain.k_best(*batch.inputs, k)
    assert len(found) == len(batch.lengths)
    for (paths, values), ranked in zip(found, answers.best):
        assert (paths.dtype, values.dtype) == (np.int32, np.float64)
        same(values, [value for _, value in ranked[:k]])
        assert list(map(tuple, paths.tolist())) == [path for path, _ in ranked[:k]]


@table
def test_score(case: Case) -> None:
    """Of the best labelling and of labelings drawn blindly, allowed or not."""
    batch = batch_of(case)
    rng = np.random.default_rng(0)
    best = np.concatenate([np.array(a[0][0], dtype=np.int32) for a in answers_of(case).best])
    blind = [rng.integers(case.n_states, size=len(best), dtype=np.int32) for _ in range(5)]
    for labels in [best, *blind]:
        expected = [
            oracle.score(batch.oracle(i), tuple(labels[batch.rows(i)].tolist()))
            for i in range(len(batch.lengths))
        ]
        same(chain.score(*batch.inputs, labels), expected)


@table
def test_entropy(case: Case) -> None:
    same(chain.entropy(*batch_of(case).inputs), answers_of(case).entropy)


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_many_short_sequences(seed: int) -> None:
    """Enough sequences of mixed lengths to fill every lane, block and thread of the core."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, size=67)
    batch = draw(rng, 3, lengths, shared=seed % 2 == 0, sparse=seed >= 2, forbidden=True)
    answers = enumerate_all(batch)
    for n_jobs in JOBS:
        found = chain.marginals(*batch.inputs, n_jobs=n_jobs)
        same(found.node, answers.node)
        same(found.edge, answers.edge)
        same(found.log_partition, answers.log_partition)
        states, _ = chain.argmax(*batch.inputs, n_jobs=n_jobs)
        for i, best in enumerate(answers.best):
            assert tuple(states[batch.rows(i)].tolist()) == best[0][0]
