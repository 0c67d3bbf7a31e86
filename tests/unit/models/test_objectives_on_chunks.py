"""Every smooth objective on a slice of CoNLL-2000: it trains, and tags sentences that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import fieldcraft as fc
from laws.cases import OF_CHAINS

TEMPLATES = "word[-1..1]\npos[-2..2]\npos[-1] & pos\npos & pos[1]\nedge"
LEAST = {"pseudo_likelihood": 0.85}  # it trusts gold neighbours


@pytest.fixture(scope="module")
def chunks(data_file: Callable[[str], Path]) -> tuple[fc.Corpus, fc.Corpus]:
    corpus = fc.read(data_file("conll2000/test.txt"), columns="word pos chunk", label="chunk")
    return corpus[:400], corpus[400:800]


@pytest.mark.parametrize("name", sorted(name for name, kind in OF_CHAINS.items() if kind.smooth))
def test_smooth_objectives(chunks: tuple[fc.Corpus, fc.Corpus], name: str) -> None:
    train, test = chunks
    crf = fc.ChainCRF(
        TEMPLATES, metric="token_accuracy", objective=name, prior=fc.Gaussian(variance=1.0)
    ).fit(train)
    assert crf.converged_
    assert crf.score(test) > LEAST.get(name, 0.92)


def test_half_of_the_labels(chunks: tuple[fc.Corpus, fc.Corpus]) -> None:
    """With every second label unknown nearly as good as with all of them, and better than without them."""
    train, test = chunks
    y = [[label if t % 2 else None for t, label in enumerate(labels)] for labels in train.labels]
    settings = {"objective": "marginal_likelihood", "prior": fc.Gaussian(variance=1.0)}
    crf = fc.ChainCRF(TEMPLATES, metric="token_accuracy", **settings, features="all").fit(train, y)
    assert crf.score(test) > 0.9
