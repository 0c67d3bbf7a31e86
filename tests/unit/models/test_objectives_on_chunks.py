"""Every smooth objective on a slice of CoNLL-2000: it trains, and tags sentences that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import fieldcraft as fc
from fieldcraft.objectives import OBJECTIVES

TEMPLATES = "word[-1..1]\npos[-2..2]\npos[-1] & pos\npos & pos[1]\nedge"
LEAST = {"pseudo_likelihood": 0.85}  # it trusts gold neighbours


@pytest.mark.parametrize("name", sorted(name for name, kind in OBJECTIVES.items() if kind.smooth))
def test_smooth_objectives(data_file: Callable[[str], Path], name: str) -> None:
    corpus = fc.read(data_file("conll2000/test.txt"), columns="word pos chunk", label="chunk")
    train, test = corpus[:400], corpus[400:800]
    crf = fc.ChainCRF(TEMPLATES, objective=name, prior=fc.Gaussian(variance=1.0)).fit(train)
    assert crf.converged_
    assert crf.score(test) > LEAST.get(name, 0.92)


def test_half_of_the_labels(data_file: Callable[[str], Path]) -> None:
    """With every second label unknown nearly as good as with all of them, and better than without them."""
    corpus = fc.read(data_file("conll2000/test.txt"), columns="word pos chunk", label="chunk")
    train, test = corpus[:400], corpus[400:800]
    y = [[label if t % 2 else None for t, label in enumerate(labels)] for labels in train.labels]
    told = {"objective": "marginal_likelihood", "prior": fc.Gaussian(variance=1.0)}
    crf = fc.ChainCRF(TEMPLATES, **told, features="all").fit(train, y)
    assert crf.score(test) > 0.9
