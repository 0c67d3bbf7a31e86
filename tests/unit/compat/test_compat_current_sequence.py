"""The tagger's current sequence, and who calls whom among predict, predict_single and their twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fieldcraft.compat import CRF, pycrfsuite

WORDS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "barks": "V", "sleeps": "V"}
TEXTS = ["the dog barks", "a cat sleeps", "dog", "a dog sleeps the cat", "cat sleeps"]
X = [[{"w": w, "end": w[-1]} for w in text.split()] for text in TEXTS]
Y = [[WORDS[w] for w in text.split()] for text in TEXTS]


@pytest.fixture
def crf() -> CRF:
    return CRF(c2=0.05, max_iterations=50).fit(X, Y)


ASKED: dict[str, Callable[[CRF, Any], Any]] = {
    "predict_single": lambda crf, x: crf.predict_single(x),
    "predict_marginals_single": lambda crf, x: crf.predict_marginals_single(x),
    "predict": lambda crf, x: crf.predict([X[0], X[1], x]),
    "predict_marginals": lambda crf, x: crf.predict_marginals([X[0], x]),
    "score": lambda crf, x: crf.score([x], [["N"] * len(x)]),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_current_sequence_is_the_last_one(crf: CRF, name: str) -> None:
    """As in the original, whose methods all go through its tagger."""
    tagger = crf.tagger_
    assert tagger is not None
    tagger.set(X[0])
    ASKED[name](crf, X[3])
    expected = math.exp(crf.chain_.log_probability([X[3]], [Y[3]])[0])
    assert tagger.probability(Y[3]) == pytest.approx(expected, rel=1e-12)
    assert tagger.tag() == Y[3]
    assert tagger.marginal("D", 0) == crf.predict_marginals_single(X[3])[0]["D"]


def test_predictions_of_no_sequence_keep_the_current_one(crf: CRF) -> None:
    crf.predict_single(X[1])
    assert crf.predict([]).shape == (0,)
    assert crf.tagger_ is not None
    assert crf.tagger_.tag() == Y[1]


def test_the_current_sequence_is_read_at_once(crf: CRF) -> None:
    tagger = pycrfsuite.Tagger(crf.chain_)
    words = [dict(item) for item in X[0]]
    tagger.set(words)
    expected = tagger.probability(Y[0])
    words[0].clear()
    words.clear()
    assert tagger.tag() == Y[0]
    assert tagger.probability(Y[0]) == expected


def test_marginals_belong_to_the_current_sequence(crf: CRF) -> None:
    tagger = pycrfsuite.Tagger(crf.chain_)
    for items in (X[0], X[1], X[0]):
        tagger.set(items)
        assert tagger.marginal("N", 1) == crf.chain_.predict_marginals([items])[0][1]["N"]


class Corrected(CRF):
    """A subclass that changes the answer for one sequence."""

    def predict_single(self, xseq: Any) -> list[str]:
        return ["X", *super().predict_single(xseq)[1:]]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        return super().predict_marginals_single(xseq)[:1]


def test_predict_calls_an_overridden_predict_single() -> None:
    crf = Corrected(c2=0.05, max_iterations=50).fit(X, Y)
    expected = [["X", *labels[1:]] for labels in Y]
    assert crf.predict(X).tolist() == expected
    assert crf.predict(iter(X)).tolist() == expected
    assert crf.predict([X[0], X[0]]).shape == (2,)
    assert [len(rows) for rows in crf.predict_marginals(X)] == [1] * len(X)
    assert crf.score(X, expected) == 1.0


def test_predict_single_never_calls_predict() -> None:
    class Logged(CRF):
        def predict(self, X: Any) -> Any:  # noqa: ARG002
            raise AssertionError("predict was called")

        predict_marginals = predict

    crf = Logged(c2=0.05, max_iterations=50).fit(X, Y)
    assert crf.predict_single(X[0]) == Y[0]
    assert len(crf.predict_marginals_single(X[0])) == 3


def test_methods_replaced_on_the_object_or_the_class(crf: CRF, monkeypatch: pytest.MonkeyPatch) -> None:
    crf.predict_single = lambda xseq: ["Q"] * len(xseq)  # type: ignore[method-assign]
    assert crf.predict(X[:1]).tolist() == [["Q"] * 3]
    monkeypatch.setattr(CRF, "predict_marginals_single", lambda self, xseq: [{"Q": 1.0}])
    assert crf.predict_marginals(X[:2]).tolist() == [[{"Q": 1.0}]] * 2


def test_without_overrides_there_is_one_batch(crf: CRF, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = type(crf.chain_).predict

    def predict(self: Any, data: Any) -> Any:
        sizes.append(len(data))
        return original(self, data)

    monkeypatch.setattr(type(crf.chain_), "predict", predict)
    assert crf.predict(np.array(X, object)).tolist() == Y
    assert sizes == [len(X)]


def test_threads_do_not_mix_up_their_sequences(crf: CRF) -> None:
    """One estimator, many threads: each gets the answer for its own sequence."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(crf.predict_single, X * 200))
        marginals = list(pool.map(crf.predict_marginals_single, X * 40))
    assert found == Y * 200
    assert [len(rows) for rows in marginals] == [len(items) for items in X] * 40
