"""MEMM and CMM: local probabilities by hand, products over steps, label bias."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft.models import local_chain

NAMES = ["A", "B", "C"]


def corpus(n: int = 40, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    y = [[str(rng.choice(NAMES)) for _ in range(rng.integers(1, 6))] for _ in range(n)]
    return [[[f"w={label}{rng.integers(3)}", f"r={rng.integers(4)}"] for label in row] for row in y], y


def local(model: Any, token: list[str], before: str | None) -> Any:
    """p(y_t | y_{t-1}, token), from the weights by name."""
    index, shared = model.features_, isinstance(model, fc.CMM)
    texts = list(model.encoder_.attribute_text(range(model.encoder_.n_attributes)))
    scores = np.zeros(3)
    for a, p, y, w in zip(index.attribute, index.previous, index.label, model.weights_):
        previous = NAMES[p] if p >= 0 else None
        if shared:
            fits = texts[a] in token if a >= 0 else previous == before
        else:
            fits = texts[a] in token and previous == before
        scores[y] += w * fits
    p = np.exp(scores - scores.max())
    return p / p.sum()


@pytest.mark.parametrize("kind", [fc.MEMM, fc.CMM])
def test_labellings_are_products_of_local_probabilities(kind: Any) -> None:
    X, y = corpus()
    model = kind(n_jobs=1).fit(X, y)
    sequence = next(x for x in X if len(x) == 3)
    every = [list(labels) for labels in product(NAMES, repeat=3)]
    expected = []
    for labels in every:
        p = 1.0
        for t, label in enumerate(labels):
            p *= local(model, sequence[t], labels[t - 1] if t else None)[NAMES.index(label)]
        expected.append(p)
    np.testing.assert_allclose(sum(expected), 1.0)
    found = np.exp(model.log_probability([sequence] * len(every), every))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert model.predict([sequence])[0] == every[int(np.argmax(expected))]
    best = model.k_best([sequence], 3)[0]
    np.testing.assert_allclose(np.exp([v for _, v in best]), sorted(expected)[::-1][:3], rtol=1e-9)


@pytest.mark.parametrize("kind", [fc.MEMM, fc.CMM])
def test_training_maximises_the_local_likelihood(kind: Any) -> None:
    """The objective is the penalised sum of local log-probabilities of the gold labels."""
    X, y = corpus()
    model = kind(prior=fc.Gaussian(variance=1.0), n_jobs=1).fit(X, y)
    loss = -model.log_probability(X, y).sum() + 0.5 * np.square(model.weights_).sum()
    np.testing.assert_allclose(model.objective_value_, loss, rtol=1e-8)


@pytest.mark.parametrize("kind", [fc.MEMM, fc.CMM])
def test_a_file_keeps_the_model(kind: Any, tmp_path: Any) -> None:
    X, y = corpus()
    model = kind(n_jobs=1).fit(X, y)
    model.save(tmp_path / "model.fc")
    loaded: Any = fc.load(tmp_path / "model.fc")
    assert type(loaded) is kind
    np.testing.assert_allclose(loaded.log_probability(X, y), model.log_probability(X, y), rtol=1e-12)


def test_label_bias() -> None:
    """After r every path has one successor, so that a MEMM cannot use what comes later; a chain does."""
    words = [list("rib")] * 6 + [list("rob")] * 4
    y = [["1", "2", "3"]] * 6 + [["4", "5", "3"]] * 4
    X = [[[letter, "always"] for letter in word] for word in words]
    memm, crf = fc.MEMM(n_jobs=1), fc.ChainCRF(n_jobs=1)
    rob = [X[-1]]
    assert memm.fit(X, y).predict(rob)[0] == ["1", "2", "3"]
    assert crf.fit(X, y).predict(rob)[0] == ["4", "5", "3"]


@pytest.mark.parametrize("kind", [fc.MEMM, fc.CMM])
def test_small_blocks_give_the_same_answers(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = corpus()
    model = kind().fit(X, y)
    whole, labels = np.concatenate(model.predict_proba(X)), model.predict(X).tolist()
    monkeypatch.setattr(local_chain, "CELLS", 40)  # a few tokens at a time
    np.testing.assert_array_equal(np.concatenate(model.predict_proba(X)), whole)
    assert model.predict(X).tolist() == labels
    assert model._predictor().scorer.block_tokens < 20
