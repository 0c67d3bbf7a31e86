"""The experiments with chunks and valid labels run on a few sentences; their rules are the schemes'."""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from experiments import second_order, valid_labels  # noqa: E402
from experiments.chunk_models import PIECES, templates  # noqa: E402

DATA = Path(os.environ.get("FIELDCRAFT_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDCRAFT_DATA", str(DATA))


def needs(name: str) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not in {DATA}")


@pytest.mark.parametrize("scheme", ["iob2", "iobes"])
def test_the_rules_leave_the_valid_labellings(scheme: str) -> None:
    letters = {"iob2": "BI", "iobes": "BIES"}[scheme]
    names = sorted([f"{letter}-{kind}" for letter in letters for kind in "XY"] + ["O"])
    rng = np.random.default_rng(0)
    y = [[str(name) for name in rng.choice(names, 3)] for _ in range(40)] + [[name] for name in names]
    X = [[[f"w{rng.integers(3)}"] for _ in row] for row in y]
    crf = fc.ChainCRF(labels=names).fit(X, y)
    limits = valid_labels.constraints_of(names, scheme, [3])
    found = {tuple(labels) for labels, _ in crf.k_best(X[:1], 1000, constraints=limits)[0]}
    every = map(list, product(names, repeat=3))
    assert found == {tuple(row) for row in every if not fc.schemes.validate(row, scheme)}


def test_pieces_of_templates_are_joined_without_doubles() -> None:
    lines = templates((*PIECES, "base")).split("\n")
    assert len(lines) == len(set(lines))
    assert len(fc.Templates.parse("\n".join(lines))) > 40


@pytest.mark.slow
def test_chunks_run(tmp_path: Path, capsys: Any) -> None:
    needs("conll2000")
    second_order.main(["test", "np", "--sentences", "25", "--out", str(tmp_path)])
    second_order.main(["report", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "| ngrams:2+observed |" in printed
    assert "by token" in printed


@pytest.mark.slow
def test_entities_run(tmp_path: Path, capsys: Any) -> None:
    needs("conll2003")
    valid_labels.main(["iob2", "--sentences", "40", "--out", str(tmp_path)])
    assert "| decoding |" in capsys.readouterr().out
    assert "| both |" in (tmp_path / "valid-labels.md").read_text(encoding="utf-8")
