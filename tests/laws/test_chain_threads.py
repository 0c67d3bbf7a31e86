"""One thread and several give the same bits, and those of the oracle.

The core hands out blocks of about 1,024 tokens. A batch must have many of them, or the calling thread has
done all the work before another one has started. The canary THREADS (tests/laws/test_canary.py) proves
that each test of this file fails where the threads' numbers differ.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from fieldcraft.structures import chain
from laws.cases import CASES, NUMERICS, Batch, Case, answers_of, batch_of, draw, identical, named, pack, same
from oracles import chain as oracle

BLOCK_TOKENS, BLOCKS = 1024, 40  # kBlockTokens of native/queries.cpp
JOBS = (2, 3)


@cache
def large(n_states: int, *, shared: bool) -> Batch:
    """Sequences of mixed lengths, more of them where one is little work."""
    rng = np.random.default_rng(n_states)
    batch = draw(rng, n_states, rng.integers(0, 50, size=250 if n_states > 9 else 4000), shared=shared)
    assert len(batch.node) > BLOCKS * BLOCK_TOKENS / (8 if n_states > 9 else 1)
    return batch


batches = pytest.mark.parametrize(
    ("n_states", "shared"), [(3, True), (3, False), (22, True), (22, False)], ids=lambda value: str(value)
)


def alike(ask: Any, batch: Batch, *rest: Any, **options: Any) -> None:
    """`ask` about the batch on one thread and on several."""
    alone = ask(*batch.inputs, *rest, n_jobs=1, **options)
    for n_jobs in JOBS:
        with named(f"{ask.__name__} {options} on {n_jobs} threads"):
            identical(ask(*batch.inputs, *rest, n_jobs=n_jobs, **options), alone)


@batches
def test_log_partition(n_states: int, shared: bool) -> None:
    for numerics in NUMERICS:
        alike(chain.log_partition, large(n_states, shared=shared), numerics=numerics)


@batches
def test_marginals(n_states: int, shared: bool) -> None:
    for numerics in NUMERICS:
        for totals in (False, True):
            alike(chain.marginals, large(n_states, shared=shared), numerics=numerics, edge_totals=totals)


@batches
def test_paths(n_states: int, shared: bool) -> None:
    batch = large(n_states, shared=shared)
    alike(chain.argmax, batch)
    alike(chain.k_best, batch, 4)
    alike(chain.sample, batch, 3, seed=1)


@batches
def test_queries(n_states: int, shared: bool) -> None:
    batch = large(n_states, shared=shared)
    rng = np.random.default_rng(0)
    alike(chain.entropy, batch)
    alike(chain.log_marginals, batch)
    alike(chain.covariance, batch, rng.normal(size=batch.node.shape))
    alike(chain.score, batch, rng.integers(n_states, size=len(batch.node), dtype=np.int32))


@batches
def test_windows(n_states: int, shared: bool) -> None:
    """A window of up to three positions in every sequence that has one."""
    batch = large(n_states, shared=shared)
    sequence = np.flatnonzero(np.diff(batch.offsets))
    sizes = np.minimum(np.diff(batch.offsets)[sequence], 3)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    allowed = np.random.default_rng(0).random((ptr[-1], n_states)) < 0.5
    alike(chain.window_probability, batch, sequence, np.zeros_like(sequence), ptr, allowed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_threads_get_the_answers_of_enumeration(case: Case) -> None:
    """The table's batch two thousand times over."""
    times = 2000
    batch, answers = pack([batch_of(case)] * times), answers_of(case)
    assert len(batch.node) > BLOCKS * BLOCK_TOKENS
    found = chain.marginals(*batch.inputs, n_jobs=3)
    same(found.node, np.tile(answers.node, (times, 1)))
    same(found.edge, np.tile(answers.edge, (times, 1)))
    same(found.log_partition, np.tile(answers.log_partition, times))
    states, values = chain.argmax(*batch.inputs, n_jobs=3)
    same(values, np.tile([best[0][1] for best in answers.best], times))
    assert np.array_equal(states, np.tile([y for best in answers.best for y in best[0][0]], times))


@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_threads_break_ties_alike(n_states: int) -> None:
    """Towards the lowest state from the end, also where another thread decides."""
    rng = np.random.default_rng(n_states)
    small = draw(rng, n_states, [1, 2, 0, 3, 4, 5])
    node = rng.integers(0, 3, size=small.node.shape).astype(float)
    small = replace(small, node=node, edge=rng.integers(0, 2, size=small.edge.shape).astype(float))
    times = 5000
    batch = pack([small] * times)
    assert len(batch.node) > BLOCKS * BLOCK_TOKENS
    paths, scores = zip(*(oracle.argmax(small.oracle(i)) for i in range(len(small.lengths))))
    for n_jobs in JOBS:
        states, values = chain.argmax(*batch.inputs, n_jobs=n_jobs)
        assert np.array_equal(states, np.tile([y for path in paths for y in path], times))
        assert np.array_equal(values, np.tile(scores, times))
