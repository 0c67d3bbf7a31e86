"""Dual methods on real data: the accuracies and gaps that the docs claim."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import ocr_letters

import fieldcraft as fc
from fieldcraft.optimisers.dual import DualOptimiser
from fieldcraft.optimisers.frank_wolfe import FrankWolfe
from fieldcraft.optimisers.smo import SMO

pytestmark = pytest.mark.slow
CHUNKS = (
    "word[-2..2]\nword[-1] & word\nword & word[1]\npos[-2..2]\npos[-2] & pos[-1]\npos[-1] & pos\n"
    "pos & pos[1]\npos[1] & pos[2]\npos[-2] & pos[-1] & pos\npos[-1] & pos & pos[1]\n"
    "pos & pos[1] & pos[2]\nedge"
)


@pytest.mark.parametrize(("method", "least"), [("likelihood", 0.805), ("margin", 0.785)])
def test_handwritten_letters(data_file: Callable[[str], Path], method: str, least: float) -> None:
    train, test = ocr_letters.read(data_file("ocr_letters/letters.npz"))
    assert len(train.X) == 704
    assert ocr_letters.run(ocr_letters.METHODS[method], train, test).test >= least


@pytest.mark.parametrize(
    ("optimiser", "closed"),
    [(FrankWolfe(max_iterations=30), 0.1), (SMO(), 1e-3)],
    ids=["frank_wolfe", "smo"],
)
def test_chunks(data_file: Callable[[str], Path], optimiser: DualOptimiser, closed: float) -> None:
    """All of CoNLL-2000: an F of 93.5, and no objective further than the gap from SMO's dual."""
    columns = ["word", "pos", "chunk"]
    train, test = (
        fc.read(data_file(f"conll2000/{name}"), columns=columns, label="chunk")
        for name in ("train.txt.gz", "test.txt")
    )
    crf = fc.ChainCRF(CHUNKS, objective="margin", prior=fc.Gaussian(variance=0.1), optimiser=optimiser)
    crf.fit(train)
    lower, rounding = 13406.5, 0.1  # the dual that SMO reached, rounded down: no objective is lower
    assert lower <= crf.objective_value_ <= (lower + rounding) / (1 - closed)
    assert crf.training_log_[-1].gap <= closed * crf.objective_value_
    y, predicted = [list(s) for s in test.labels], crf.predict(test)
    assert fc.metrics.span_scores(y, predicted).f >= 0.935
