"""Features without weight are not stored: a smaller file, the same answers to the last bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc

TEMPLATES = """word[-2..2]
word[-1] & word
word[-1] & word & word[1]
suffix(word, 1..3)
edge
edge: shape(word)"""
CASES: dict[str, dict[str, Any]] = {
    "free": {},
    "hashed": {"hash_size": 300},
    "templates": {"templates": TEMPLATES},
    "hashed_templates": {"templates": TEMPLATES, "hash_size": 300},
}


def corpus(n: int = 60) -> tuple[list[list[str]], list[list[str]]]:
    addresses = fc.datasets.addresses(n, seed=3)
    return [s.columns["word"] for s in addresses], [list(s.labels) for s in addresses]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_same_answers(case: str, scale: float, tmp_path: Path) -> None:
    words, y = corpus()
    X: Any = words if "templates" in CASES[case] else [[[f"w={w}", w[:2]] for w in s] for s in words]
    crf = fc.ChainCRF(**CASES[case], prior=fc.Laplacian(scale=scale)).fit(X, y)
    zero = crf.weights_ == 0
    assert zero.mean() > 0.1
    crf.save(tmp_path / "full.fc", zeros=True)
    crf.save(tmp_path / "sparse.fc")
    assert os.path.getsize(tmp_path / "sparse.fc") < os.path.getsize(tmp_path / "full.fc")
    sparse = fc.load(tmp_path / "sparse.fc")
    np.testing.assert_array_equal(sparse.weights_, crf.weights_[~zero])
    np.testing.assert_array_equal(sparse.features_.count, crf.features_.count[~zero])
    assert _names(sparse) == [n for n, z in zip(_names(crf), zero) if not z]
    assert sparse.predict(X).tolist() == crf.predict(X).tolist()
    np.testing.assert_array_equal(sparse.log_partition(X), crf.log_partition(X))


def test_a_model_of_nothing(tmp_path: Path) -> None:
    """All weights 0: the file holds no feature and still answers."""
    words, y = corpus(5)
    crf = fc.ChainCRF("word", prior=fc.Laplacian(scale=1e-9)).fit(words, y)
    assert not crf.weights_.any()
    crf.save(tmp_path / "none.fc")
    loaded = fc.load(tmp_path / "none.fc")
    assert len(loaded.weights_) == 0
    np.testing.assert_array_equal(loaded.log_partition(words), crf.log_partition(words))


def test_float32(tmp_path: Path) -> None:
    words, y = corpus()
    crf = fc.ChainCRF(TEMPLATES).fit(words, y)
    crf.save(tmp_path / "64.fc")
    crf.save(tmp_path / "32.fc", float32=True)
    saved = os.path.getsize(tmp_path / "64.fc") - os.path.getsize(tmp_path / "32.fc")
    assert abs(saved - 4 * len(crf.weights_)) < 64
    half = fc.load(tmp_path / "32.fc")
    assert half.weights_.dtype == np.float64
    np.testing.assert_array_equal(half.weights_, crf.weights_.astype(np.float32))
    assert half.predict(words).tolist() == crf.predict(words).tolist()


def _names(crf: fc.ChainCRF) -> list[tuple[Any, ...]]:
    index = crf.features_
    texts = [*crf.encoder_.attribute_text(range(index.n_attributes)), ""]
    return [(texts[a], int(p), int(y)) for a, p, y in zip(index.attribute, index.previous, index.label)]
