"""ChainCRF's answers: their types, and every number against enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import ChainCRF
from fieldcraft.models.parameters import Parameters
from oracles import chain as oracle
from unit.models.small import LABELS, batch, chains, corpus, model

KINDS = ["plain", "iob2"]


@pytest.fixture(scope="module", params=KINDS)
def crf(request: pytest.FixtureRequest) -> ChainCRF:
    return model(LABELS[request.param])


def names(crf: ChainCRF, path: tuple[int, ...]) -> list[str]:
    return [crf.classes_[k] for k in path]


def test_classes_are_sorted_texts(crf: ChainCRF) -> None:
    assert crf.classes_.dtype == object
    assert crf.classes_.tolist() == sorted(crf.classes_)
    assert all(type(label) is str for label in crf.classes_)


def test_predict(crf: ChainCRF) -> None:
    X = batch()
    found = crf.predict(X)
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (object, (len(X),))
    assert all(type(labels) is list for labels in found)
    for labels, chain in zip(found, chains(crf, X)):
        assert labels == names(crf, oracle.argmax(chain)[0])
        assert all(type(label) is str for label in labels)


@pytest.mark.parametrize("lengths", [(3, 3, 3), (1,), (2, 2), (0, 0), ()])
def test_equal_lengths_stay_one_dimensional(crf: ChainCRF, lengths: tuple[int, ...]) -> None:
    X = batch(lengths=lengths)
    for found in (crf.predict(X), crf.predict_proba(X)):
        assert (found.dtype, found.shape) == (object, (len(lengths),))
    assert [len(labels) for labels in crf.predict(X)] == list(lengths)
    assert [p.shape for p in crf.predict_proba(X)] == [(n, len(crf.classes_)) for n in lengths]


def test_predict_proba(crf: ChainCRF) -> None:
    X = batch()
    for p, chain in zip(crf.predict_proba(X), chains(crf, X)):
        assert p.dtype == np.float64
        expected = np.array(oracle.node_marginals(chain)).reshape(p.shape)
        np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-12)


def test_predict_marginals_has_the_same_numbers(crf: ChainCRF) -> None:
    X = batch()
    for dicts, p in zip(crf.predict_marginals(X), crf.predict_proba(X)):
        assert isinstance(dicts, list)
        assert [list(d) for d in dicts] == [crf.classes_.tolist()] * len(p)
        assert [list(d.values()) for d in dicts] == p.tolist()


def test_k_best(crf: ChainCRF) -> None:
    X = batch()
    for found, chain in zip(crf.k_best(X, 7), chains(crf, X)):
        expected = oracle.k_best(chain, 7)
        own = {tuple(names(crf, path)): score for path, score in oracle.k_best(chain, 10_000)}
        scores = [own.pop(tuple(labels)) for labels, _ in found]  # ties may come in any order, but once
        assert scores == pytest.approx([score for _, score in expected], rel=1e-9, abs=1e-10)
        z = oracle.log_partition(chain)
        values = [value for _, value in found]
        assert values == pytest.approx([score - z for _, score in expected], rel=1e-9, abs=1e-10)
        assert all(type(value) is float for value in values)
        best = crf.k_best([], 7)
        assert best == []


def test_all_labelings_have_probability_one(crf: ChainCRF) -> None:
    X = batch(lengths=(2, 1))
    for found in crf.k_best(X, 1000):
        assert math.fsum(math.exp(value) for _, value in found) == pytest.approx(1.0, rel=1e-10)


def test_log_partition_and_entropy(crf: ChainCRF) -> None:
    X = batch()
    asked = chains(crf, X)
    for found, ask in [(crf.log_partition(X), oracle.log_partition), (crf.entropy(X), oracle.entropy)]:
        assert (found.dtype, found.shape) == (np.float64, (len(X),))
        np.testing.assert_allclose(found, [ask(chain) for chain in asked], rtol=1e-9, atol=1e-11)


def test_log_probability(crf: ChainCRF) -> None:
    X = batch()
    rng = np.random.default_rng(0)
    paths = [tuple(rng.integers(len(crf.classes_), size=len(items)).tolist()) for items in X]
    found = crf.log_probability(X, [names(crf, path) for path in paths])
    assert (found.dtype, found.shape) == (np.float64, (len(X),))
    for value, path, chain in zip(found, paths, chains(crf, X)):
        expected = oracle.score(chain, path) - oracle.log_partition(chain)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_sample(crf: ChainCRF) -> None:
    """10,000 draws of a short sequence: every labelling within five standard errors."""
    X = batch(lengths=(2, 0))
    n = 10_000
    drawn = crf.sample(X, n)
    assert [len(rows) for rows in drawn] == [n, n]
    assert drawn[1] == [[]] * n
    (chain, _) = chains(crf, X)
    for path, p in oracle.distribution(chain).items():
        share = sum(row == names(crf, path) for row in drawn[0]) / n
        assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-9


def test_samples_are_fixed_by_the_seed(crf: ChainCRF) -> None:
    X = batch()
    once = crf.sample(X, 5)
    assert crf.sample(X, 5) == once
    crf.random_state, before = 7, crf.random_state
    assert crf.sample(X, 5) != once
    crf.random_state = before


def test_posterior_decoding(crf: ChainCRF) -> None:
    X = batch()
    crf.decoding = "posterior"
    try:
        found, decoded = crf.predict(X), crf.decode(X)
    finally:
        crf.decoding = "viterbi"
    for labels, decoding, p in zip(found, decoded, crf.predict_proba(X)):
        assert labels == [crf.classes_[k] for k in p.argmax(axis=1)]
        assert (decoding.labels, decoding.optimal, decoding.method) == (labels, False, "posterior")


def test_the_decodings_differ_somewhere() -> None:
    crf = model(LABELS["plain"], seed=3)
    X = batch(lengths=(5,) * 40)
    by_path = crf.predict(X).tolist()
    crf.decoding = "posterior"
    assert crf.predict(X).tolist() != by_path


def test_decode(crf: ChainCRF) -> None:
    X = batch()
    found = crf.decode(X)
    values = crf.log_probability(X, [decoding.labels for decoding in found])
    assert [decoding.labels for decoding in found] == crf.predict(X).tolist()
    assert [decoding.value for decoding in found] == pytest.approx(values.tolist(), abs=1e-10)
    assert all(decoding.optimal and decoding.gap == 0.0 for decoding in found)


def test_score_by_token_accuracy(crf: ChainCRF) -> None:
    X = batch()
    predicted = crf.predict(X)
    gold = [[crf.classes_[0]] * len(items) for items in X]
    right = sum(a == b for p, g in zip(predicted, gold) for a, b in zip(p, g))
    assert crf.scored(X).score(gold, metric="token_accuracy") == pytest.approx(right / sum(map(len, X)))


def test_edge_features_look_at_the_input() -> None:
    """With edge features all answers still agree with enumeration, and transitions depend on words."""
    X, y = corpus(LABELS["plain"])
    seen = [[[*item, f"e|{item[0]}"] for item in items] for items in X]
    crf = ChainCRF(edge_prefix="e|", n_jobs=1).fit(seen, y)
    assert crf._parameters.scorer.looks_at_edges
    asked = [[[*item, f"e|{item[0]}"] for item in items] for items in batch()]
    for p, best, chain in zip(crf.predict_proba(asked), crf.predict(asked), chains(crf, asked)):
        expected = np.array(oracle.node_marginals(chain)).reshape(p.shape)
        np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-12)
        assert best == names(crf, oracle.argmax(chain)[0])
    entropy = [oracle.entropy(chain) for chain in chains(crf, asked)]
    np.testing.assert_allclose(crf.entropy(asked), entropy, rtol=1e-9, atol=1e-11)


SPACES: list[dict[str, Any]] = [
    {"features": "all"},
    {"features": "all_states"},
    {"features": "all_transitions"},
    {"min_count": 2},
    {"hash_size": 4},
    {"prior": "laplacian"},
    {"prior": None},
]


@pytest.mark.parametrize("settings", SPACES, ids=str)
def test_other_feature_spaces(settings: dict[str, Any]) -> None:
    crf = model(LABELS["plain"], **{"optimiser": "auto", **settings})
    X = batch()
    for p, chain in zip(crf.predict_proba(X), chains(crf, X)):
        expected = np.array(oracle.node_marginals(chain)).reshape(p.shape)
        np.testing.assert_allclose(p, expected, rtol=1e-8, atol=1e-12)


def test_a_model_without_transitions_is_logistic_regression_per_token() -> None:
    crf = model(LABELS["plain"])
    weights = np.where(crf.features_.is_edge, 0.0, crf.weights_)
    structure = crf._parameters.structure
    crf._settle(Parameters.of(crf.encoder_, crf.features_, weights, structure), crf.classes_.tolist())
    X = batch(lengths=(4,))
    (p,) = crf.predict_proba(X)
    alone = [crf.predict_proba([[item]])[0][0] for item in X[0]]
    np.testing.assert_allclose(p, alone, rtol=1e-10)


def test_a_corpus_brings_its_weights() -> None:
    sequences = [
        fc.Sequence({"word": ["a", "b"]}, ["X", "Y"], weight=3.0),
        fc.Sequence({"word": ["a"]}, ["Y"]),
    ]
    corpus = fc.Corpus(sequences)
    crf = ChainCRF("word").fit(corpus)
    asked = ChainCRF("word").fit(corpus, sample_weight=[3.0, 1.0])
    np.testing.assert_array_equal(crf.weights_, asked.weights_)
    assert crf.weights_.tobytes() != ChainCRF("word").fit(corpus, sample_weight=[1.0, 1.0]).weights_.tobytes()
