"""Every element of every answer about a chain, against enumeration, over the whole table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import (
    CASES,
    NUMERICS,
    Case,
    answers_of,
    batch_of,
    draw,
    enumerate_all,
    identical,
    named,
    same,
)
from oracles import chain as oracle

table = pytest.mark.parametrize("case", CASES, ids=str)


@table
def test_log_partition(case: Case) -> None:
    for numerics in NUMERICS:
        with named(numerics):
            values = chain.log_partition(*batch_of(case).inputs, numerics=numerics)
            assert values.dtype == np.float64
            same(values, answers_of(case).log_partition)


@table
def test_marginals(case: Case) -> None:
    answers = answers_of(case)
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*batch_of(case).inputs, numerics=numerics)
            assert {part.dtype for part in found} == {np.dtype("f8")}
            same(found.node, answers.node)
            same(found.edge, answers.edge)
            same(found.log_partition, answers.log_partition)


@table
def test_edge_totals(case: Case) -> None:
    answers = answers_of(case)
    for numerics in NUMERICS:
        with named(numerics):
            found = chain.marginals(*batch_of(case).inputs, edge_totals=True, numerics=numerics)
            same(found.edge, answers.edge.sum(axis=0))
            same(found.node, answers.node)
            same(found.log_partition, answers.log_partition)


@table
def test_argmax(case: Case) -> None:
    batch, answers = batch_of(case), answers_of(case)
    states, values = chain.argmax(*batch.inputs)
    assert (states.dtype, values.dtype) == (np.int32, np.float64)
    same(values, [best[0][1] for best in answers.best])
    for i, best in enumerate(answers.best):
        assert tuple(states[batch.rows(i)].tolist()) == best[0][0]


@table
def test_k_best(case: Case) -> None:
    batch, answers = batch_of(case), answers_of(case)
    for k in (1, 3, 20):
        with named(k):
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


@table
def test_single_precision_is_widened_first(case: Case) -> None:
    """float32 potentials get the answers of their float64 copies, bit for bit."""
    wide = batch_of(case)
    narrow = replace(wide, node=wide.node.astype("f4"), edge=wide.edge.astype("f4"))
    wide = replace(wide, node=narrow.node.astype("f8"), edge=narrow.edge.astype("f8"))
    rng = np.random.default_rng(0)
    labels = rng.integers(case.n_states, size=len(wide.node), dtype=np.int32)
    moved = rng.normal(size=wide.node.shape)
    for numerics in NUMERICS:
        with named(numerics):
            identical(
                chain.log_partition(*narrow.inputs, numerics=numerics),
                chain.log_partition(*wide.inputs, numerics=numerics),
            )
            for totals in (False, True):
                options = {"numerics": numerics, "edge_totals": totals}
                identical(
                    chain.marginals(*narrow.inputs, **options), chain.marginals(*wide.inputs, **options)
                )
    for ask in (chain.argmax, chain.entropy, chain.log_marginals):
        identical(ask(*narrow.inputs), ask(*wide.inputs))
    identical(chain.k_best(*narrow.inputs, 20), chain.k_best(*wide.inputs, 20))
    identical(chain.sample(*narrow.inputs, 5, seed=1), chain.sample(*wide.inputs, 5, seed=1))
    identical(chain.score(*narrow.inputs, labels), chain.score(*wide.inputs, labels))
    identical(chain.covariance(*narrow.inputs, moved), chain.covariance(*wide.inputs, moved))


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_many_short_sequences(seed: int) -> None:
    """Sequences of mixed lengths in one block of the core."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, size=67)
    batch = draw(rng, 3, lengths, shared=seed % 2 == 0, sparse=seed >= 2, forbidden=True)
    answers = enumerate_all(batch)
    found = chain.marginals(*batch.inputs)
    same(found.node, answers.node)
    same(found.edge, answers.edge)
    same(found.log_partition, answers.log_partition)
    states, _ = chain.argmax(*batch.inputs)
    for i, best in enumerate(answers.best):
        assert tuple(states[batch.rows(i)].tolist()) == best[0][0]
