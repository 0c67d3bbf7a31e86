"""Scores near the largest number: what they add up to has no floating-point number, but an answer.

Scores are multiples of 2**1019, so that sums are exact in any order: the oracle's ties are the core's ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from fieldcraft import ChainCRF
from fieldcraft.errors import InputError
from fieldcraft.structures import chain
from fieldcraft.structures.linear_chain import LinearChain
from laws.cases import Batch, draw, identical, same
from oracles import chain as plain
from oracles import exact_chain as oracle

UNIT = 2.0**1019  # 31 of them are just below the largest number
SEEDS = range(12)


def huge(seed: int) -> Batch:
    """Six sequences over two to four states, with forbidden parts and transitions."""
    rng = np.random.default_rng(seed)
    shape: Any = {"shared": bool(seed % 2), "sparse": seed % 3 == 1, "forbidden": seed % 4 > 1}
    batch = draw(rng, int(rng.integers(2, 5)), [1, 2, 3, 4, 0, 3], **shape)
    parts = {
        name: np.where(np.isfinite(part), rng.integers(-31, 32, part.shape) * UNIT, part)
        for name, part in {"node": batch.node, "edge": batch.edge}.items()
    }
    return replace(batch, **parts)


def each(batch: Batch) -> list[tuple[int, Batch, plain.Chain]]:
    """Every sequence: its number, a batch of it alone, and the oracle's chain."""
    return [(i, batch.sequence(i), batch.oracle(i)) for i in range(len(batch.lengths))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_labellings(seed: int) -> None:
    batch = huge(seed)
    states, values = chain.argmax(*batch.inputs)
    ranked = chain.k_best(*batch.inputs, 5)
    for i, _, exactly in each(batch):
        expected = oracle.labelings(exactly)
        assert tuple(states[batch.rows(i)].tolist()) == expected[0][0]
        assert values[i] == oracle.rounded(expected[0][1])
        paths, scores = ranked[i]
        assert [oracle.score(exactly, path) for path in paths.tolist()] == [v for _, v in expected[:5]]
        assert scores.tolist() == [oracle.rounded(value) for _, value in expected[:5]]


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities(seed: int) -> None:
    """Node marginals, entropy and windows are probabilities also where log Z has no number."""
    batch = huge(seed)
    for _, alone, exactly in each(batch):
        T, S = len(exactly.node), len(exactly.starts)
        probability = oracle.distribution(exactly)
        node = np.zeros((T, S))
        for path, p in probability.items():
            node[np.arange(T), list(path)] += p
        windows = [np.arange(S) == y for t, y in product(range(T), range(S))]
        firsts = np.repeat(np.arange(T), S)
        at = np.zeros(T * S, int), firsts, np.arange(T * S + 1), np.reshape(windows, (-1, S))
        same(chain.window_probability(*alone.inputs, *at).reshape(T, S), node, abs=1e-9)
        line = LinearChain(alone.states)
        same(line.label_marginals(line.potentials(*alone.inputs[:3])), node, abs=1e-9)
        entropy = -math.fsum(p * math.log(p) for p in probability.values() if p > 0)
        same(chain.entropy(*alone.inputs), [entropy], abs=1e-9)
        drawn = chain.sample(*alone.inputs, 20, seed=seed)[0]
        assert all(probability[tuple(path)] > 0 for path in drawn.tolist())


@pytest.mark.parametrize("seed", SEEDS)
def test_marginals_and_log_z_or_an_error_that_names_the_sequence(seed: int) -> None:
    batch = huge(seed)
    total: Callable[[Batch], Any] = lambda one: chain.log_partition(*one.inputs)  # noqa: E731
    asked = [total, lambda one: chain.marginals(*one.inputs).log_partition]
    for _, alone, exactly in each(batch):
        expected = oracle.rounded(oracle.log_partition(exactly))
        for ask in asked:
            if math.isfinite(expected):
                same(ask(alone), [expected], abs=UNIT / 1e9)
            else:
                with pytest.raises(InputError, match=r"^sequence 0: .*largest floating-point"):
                    ask(alone)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_score_of_given_labels(seed: int) -> None:
    batch, rng = huge(seed), np.random.default_rng(seed)
    for _, alone, exactly in each(batch):
        for _ in range(10):
            labels = rng.integers(0, len(exactly.starts), len(exactly.node))
            value = oracle.score(exactly, labels.tolist())
            expected = -math.inf if value is None else oracle.rounded(value)
            if value is None or math.isfinite(expected):
                assert chain.score(*alone.inputs, labels).tolist() == [expected]
            else:
                with pytest.raises(InputError, match="^sequence 0: "):
                    chain.score(*alone.inputs, labels)


def test_ordinary_scores_between_huge_ones_still_count() -> None:
    """+B and -B cancel in every labelling; what is left decides, though prefixes are as large as B."""
    rng = np.random.default_rng(3)
    batch = draw(rng, 3, [5])
    node = batch.node.copy()
    node[0], node[4] = 31 * UNIT, -31 * UNIT
    small = node.copy()
    small[[0, 4]] = 0.0
    found = chain.marginals(*replace(batch, node=node).inputs)
    expected = chain.marginals(*replace(batch, node=small).inputs)
    same(found.node, expected.node, abs=1e-9)
    same(found.edge, expected.edge, abs=1e-9)
    logs = chain.log_marginals(*replace(batch, node=node).inputs)
    same(logs, np.log(expected.node), abs=1e-9)


def test_ordinary_sequences_beside_a_huge_one_keep_every_bit() -> None:
    batch = draw(np.random.default_rng(4), 4, [5, 7, 3], shared=False)
    wild = replace(batch, node=batch.node.copy())
    wild.node[5:12] *= 1e307
    before, after = (chain.argmax(*one.inputs) for one in (batch, wild))
    assert np.array_equal(before[0][:5], after[0][:5])
    identical(before[1][[0, 2]], after[1][[0, 2]])
    entropies = [chain.entropy(*one.inputs) for one in (batch, wild)]
    identical(entropies[0][[0, 2]], entropies[1][[0, 2]])
    samples = [chain.sample(*one.inputs, 5, seed=0) for one in (batch, wild)]
    identical(samples[0][0], samples[1][0])


def test_a_model_whose_scores_overflow_names_the_sequence() -> None:
    X: Any = [[{"a": 1.0}], [{"a": 1.0, "b": -1.0}, {"b": 1.0}]]
    crf = ChainCRF().fit(X, [["X"], ["X", "Y"]])
    scored = [[{"a": 1.0}], [{"a": 1e308, "b": -1e308}, {"b": 1.0}], [{"a": 1e308}] * 3]
    strong = ChainCRF(prior=None).fit(X * 3, [["X"], ["X", "Y"]] * 3)
    for model in (crf, strong):
        labels = ask(lambda model=model: model.predict(scored))
        assert isinstance(labels, str) or all(np.isin(row, ["X", "Y"]).all() for row in labels)
        for question in (model.log_partition, model.predict_proba, model.entropy):
            answer = ask(lambda question=question: question(scored))
            if isinstance(answer, str):
                assert answer.startswith(("sequence 1: ", "sequence 2: "))
            else:
                assert all(np.isfinite(part).all() for part in answer)


def ask(question: Callable[[], Any]) -> Any:
    """The answer, or the message of the refusal."""
    try:
        return question()
    except InputError as error:
        return str(error)


def test_the_oracle_knows_the_plain_one() -> None:
    """On ordinary scores both oracles agree."""
    batch = draw(np.random.default_rng(1), 3, [4, 1])
    for i in range(2):
        one = batch.oracle(i)
        same(float(oracle.log_partition(one)), plain.log_partition(one))
        same(
            list(oracle.distribution(one).values()),
            [plain.distribution(one)[p] for p, _ in oracle.labelings(one)],
        )
    assert oracle.rounded(Fraction(2) ** 1025) == math.inf
