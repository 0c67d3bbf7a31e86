"""Hidden Markov models: posteriors by enumeration, Baum-Welch, and the chain of the same posterior."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.errors import InputError

# The determiner, noun and verb of a language of two words; rows of transitions are those of the state before.
START = [0.8, 0.0, 0.2]
TRANSITION = [[0.0, 1.0, 0.0], [0.2, 0.2, 0.6], [0.8, 0.0, 0.2]]
EMISSION = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
LABELS, WORDS = ["D", "N", "V"], ["can", "the"]


def language() -> fc.HMM:
    return fc.HMM.from_probabilities(START, TRANSITION, EMISSION, LABELS, WORDS)


def joint(labels: tuple[str, ...], words: list[str]) -> float:
    """p(x, y), factor by factor."""
    y, x = [LABELS.index(label) for label in labels], [WORDS.index(word) for word in words]
    p = START[y[0]] * EMISSION[y[0]][x[0]]
    for t in range(1, len(x)):
        p *= TRANSITION[y[t - 1]][y[t]] * EMISSION[y[t]][x[t]]
    return p


def corpus(n: int = 60, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    y = [[str(rng.choice(["A", "B"])) for _ in range(rng.integers(1, 7))] for _ in range(n)]
    return [
        [f"{label.lower()}{rng.integers(3)}" if rng.random() < 0.8 else "x" for label in row] for row in y
    ], y


def test_the_language_of_two_words_number_by_number() -> None:
    hmm, words = language(), ["the", "can", "can", "can", "the", "can"]
    index, weights = hmm.features_, hmm.weights_
    texts = list(hmm.encoder_.attribute_text(range(hmm.encoder_.n_attributes)))
    named = {}
    for a, p, y, w in zip(index.attribute, index.previous, index.label, weights.tolist()):
        before = LABELS[p] if p >= 0 else None
        named[texts[a].split("=")[-1] if a >= 0 else None, before, LABELS[y]] = w
    inf = math.inf
    log_start = [round(named["first", None, y], 2) for y in LABELS]
    assert log_start == [-0.22, -inf, -1.61]
    log_transition = [[round(named[None, a, b], 2) + 0.0 for a in LABELS] for b in LABELS]
    assert log_transition == [[-inf, -1.61, -0.22], [0.0, -1.61, -inf], [-inf, -0.51, -1.61]]
    log_emission = [[named[word, None, y] + 0.0 for y in LABELS] for word in WORDS]
    assert log_emission == [[-inf, 0.0, 0.0], [0.0, -inf, -inf]]
    gold = ["D", "N", "V", "V", "D", "N"]
    score = hmm.log_probability([words], [gold])[0] + hmm.log_likelihood([words])[0]
    assert score == pytest.approx(math.log(0.8 * 1.0 * 0.6 * 0.2 * 0.8 * 1.0), rel=1e-12)


@pytest.mark.parametrize("words", [["the"], ["can", "can"], ["the", "can", "can", "the", "can"]])
def test_posteriors_by_enumeration(words: list[str]) -> None:
    hmm = language()
    every = {labels: joint(labels, words) for labels in product(LABELS, repeat=len(words))}
    total = math.fsum(every.values())
    assert hmm.log_likelihood([words])[0] == pytest.approx(math.log(total), rel=1e-10)
    table = [[math.fsum(p for y, p in every.items() if y[t] == name) / total for name in LABELS]
             for t in range(len(words))]  # fmt: skip
    for model in (hmm, hmm.to_crf()):
        X: Any = [words] if model is hmm else [{"word": words}]
        np.testing.assert_allclose(model.predict_proba(X)[0], table, rtol=1e-10, atol=1e-12)
        assert every[tuple(model.predict(X)[0])] == max(every.values())


def test_counts_with_smoothing() -> None:
    hmm = fc.HMM(smoothing=0.5).fit([["a", "b"], ["a"]], [["X", "Y"], ["X"]])
    start, transition, emission, unknown = hmm.probabilities_
    np.testing.assert_allclose(start, [2.5 / 3, 0.5 / 3])
    np.testing.assert_allclose(transition, [[0.5 / 2, 1.5 / 2], [0.5, 0.5]])
    np.testing.assert_allclose(emission, [[2.5 / 3.5, 0.5 / 3.5], [0.5 / 2.5, 1.5 / 2.5]])
    np.testing.assert_allclose(unknown, [0.5 / 3.5, 0.5 / 2.5])
    p = 2.5 / 3 * (0.5 / 3.5), 0.5 / 3 * (0.5 / 2.5)
    np.testing.assert_allclose(hmm.predict_proba([["never seen"]])[0], [[p[0] / sum(p), p[1] / sum(p)]])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_baum_welch_never_lowers_the_likelihood(smoothing: float) -> None:
    X, y = corpus()
    partial = [[label if (i + t) % 3 else None for t, label in enumerate(row)] for i, row in enumerate(y)]
    for hmm in (fc.HMM(n_states=3, smoothing=smoothing).fit(X), fc.HMM(smoothing=smoothing).fit(X, partial)):
        values = np.array(hmm.log_likelihoods_)
        assert len(values) > 3
        assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:]))
    free = fc.HMM(n_states=3, smoothing=0.0).fit(X)
    assert free.log_likelihood(X).sum() >= free.log_likelihoods_[-1] - 1e-6
    assert set(np.concatenate(free.predict(X))) <= {"0", "1", "2"}


def test_a_file_keeps_impossible_symbols(tmp_path: Any) -> None:
    hmm, X = language(), [["the", "can", "can", "can"]]
    hmm.save(tmp_path / "hmm.fc")
    loaded: Any = fc.load(tmp_path / "hmm.fc")
    assert isinstance(loaded, fc.HMM)
    np.testing.assert_array_equal(loaded.predict_proba(X)[0], hmm.predict_proba(X)[0])
    hmm.to_crf().save(tmp_path / "crf.fc")
    crf: Any = fc.load(tmp_path / "crf.fc")
    np.testing.assert_array_equal(crf.predict_proba([{"word": X[0]}])[0], hmm.predict_proba(X)[0])


def test_conditional_training_is_the_chain_of_the_same_features() -> None:
    X, y = corpus()
    hmm = fc.HMM(objective="conditional", n_jobs=1).fit(X, y)
    crf = fc.ChainCRF("word\nfirst\nbias\nedge", n_jobs=1).fit([{"word": x} for x in X], y)
    np.testing.assert_array_equal(hmm.weights_, crf.weights_)


def test_hmmlearn_has_the_same_posteriors() -> None:
    hmmlearn = pytest.importorskip("hmmlearn.hmm")
    X, y = corpus()
    ours = fc.HMM(smoothing=0.5).fit(X, y)
    start, transition, emission, unknown = ours.probabilities_
    theirs = hmmlearn.CategoricalHMM(n_components=2, n_features=emission.shape[1] + 1)
    theirs.startprob_, theirs.transmat_ = start, transition
    theirs.emissionprob_ = np.column_stack([emission, unknown])
    words: dict[str, int] = {}
    for row in X:
        for word in row:
            words.setdefault(word, len(words))
    for row in X[:20]:
        numbers = np.array([[words[word]] for word in row])
        np.testing.assert_allclose(theirs.predict_proba(numbers), ours.predict_proba([row])[0], atol=1e-10)
        assert theirs.score(numbers) == pytest.approx(float(ours.log_likelihood([row])[0]), rel=1e-9)
        assert ours.classes_[theirs.predict(numbers)].tolist() == list(ours.predict([row])[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"objective": "other"}, "choose one of joint"), ({"smoothing": -1.0}, "negative"), ({}, "n_states")],
)
def test_settings_that_are_wrong(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fc.HMM(**settings).fit([["a"]])


def test_numbers_that_are_no_probabilities() -> None:
    with pytest.raises(InputError, match="start: each row must be probabilities"):
        fc.HMM.from_probabilities([0.5, 0.6], [[1, 0], [0, 1]], [[1], [1]], ["a", "b"], ["x"])
    with pytest.raises(InputError, match=r"transition has the shape \(2, 3\); \(2, 2\) is needed"):
        fc.HMM.from_probabilities([1, 0], [[1, 0, 0], [0, 1, 0]], [[1], [1]], ["a", "b"], ["x"])
    with pytest.raises(InputError, match="nothing to learn from"):
        fc.HMM().fit([], [])
