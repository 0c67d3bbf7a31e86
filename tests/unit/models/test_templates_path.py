"""Templates and free features are two doors to one model: same attributes, same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import LBFGS, ChainCRF
from fieldcraft.features.named import GAZETTEERS, NAMED

TEMPLATES = "word\nword[-1]\nlower(word)\nsuffix(word, 2)\nedge: bias\n"
SENTENCES = [
    [("The", "D"), ("dog", "N"), ("barks", "V")],
    [("A", "D"), ("cat", "N")],
    [("Dogs", "N"), ("chase", "V"), ("the", "D"), ("cat", "N")],
    [("Run", "V")],
]


def by_hand(words: list[str]) -> list[list[str]]:
    """The attributes of TEMPLATES, spelled in any way that keeps them apart."""
    before = ["<start>", *words[:-1]]
    return [[f"0={w}", f"1={b}", f"2={w.lower()}", f"3={w[-2:]}"] for w, b in zip(words, before)]


WORDS = [[word for word, _ in sentence] for sentence in SENTENCES]
TAGS = [[tag for _, tag in sentence] for sentence in SENTENCES]
EXACT = LBFGS(tolerance=1e-10, objective_tolerance=0.0)


def test_templates_are_free_features() -> None:
    through = ChainCRF(templates=TEMPLATES, optimiser=EXACT, n_jobs=1).fit(WORDS, TAGS)
    free = ChainCRF(optimiser=EXACT, n_jobs=1).fit([by_hand(words) for words in WORDS], TAGS)
    asked = [*WORDS, ["The", "unseen", "Cat"], []]
    assert through.objective_value_ == pytest.approx(free.objective_value_, rel=1e-10)
    assert len(through.weights_) == len(free.weights_)
    np.testing.assert_allclose(np.sort(through.weights_), np.sort(free.weights_), atol=1e-7)
    found, expected = through.predict_proba(asked), free.predict_proba([by_hand(w) for w in asked])
    for left, right in zip(found, expected):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-9)
    assert through.predict(asked).tolist() == free.predict([by_hand(w) for w in asked]).tolist()


def test_a_corpus_is_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "small.conll"
    rows = ["\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in SENTENCES]
    path.write_text("\n\n".join(rows) + "\n")
    corpus = fc.read(path, columns=["word", "tag"], label="tag")
    settings: dict[str, Any] = {"templates": TEMPLATES, "n_jobs": 1}
    one = ChainCRF(**settings).fit(corpus)
    two = ChainCRF(**settings).fit(WORDS, TAGS)
    three = ChainCRF(**settings).fit([[{"word": w} for w in words] for words in WORDS], TAGS)
    assert one.weights_.tobytes() == two.weights_.tobytes() == three.weights_.tobytes()
    assert one.predict(corpus).tolist() == two.predict(WORDS).tolist()
    assert one.score(corpus) == two.score(WORDS, TAGS)
    np.testing.assert_array_equal(one.log_probability(corpus), two.log_probability(WORDS, TAGS))


def test_edge_templates_are_edge_features() -> None:
    text = "word\nedge: bias\nedge: lower(word)\n"
    through = ChainCRF(templates=text, optimiser=EXACT, n_jobs=1).fit(WORDS, TAGS)
    items = [[[f"w={w}", f"e|{w.lower()}"] for w in words] for words in WORDS]
    free = ChainCRF(edge_prefix="e|", optimiser=EXACT, n_jobs=1).fit(items, TAGS)
    assert through._parameters.scorer.looks_at_edges
    assert free.objective_value_ == pytest.approx(through.objective_value_, rel=1e-10)
    assert through.predict(WORDS).tolist() == free.predict(items).tolist()


def test_every_named_set_trains(tmp_path: Path) -> None:
    lists = [fc.Gazetteer(name, ["cat", "The dog"]) for name in GAZETTEERS]
    for name in NAMED:
        crf = ChainCRF(templates=name, optimiser=LBFGS(max_iterations=5), gazetteers=lists, n_jobs=1)
        rows = [[{"word": w, "pos": "X", "chunk": "Y"} for w in words] for words in WORDS]
        crf.fit(rows, TAGS)
        path = tmp_path / f"{name}.fc"
        crf.save(path)
        assert fc.load(path).predict(rows).tolist() == crf.predict(rows).tolist()
