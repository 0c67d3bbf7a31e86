"""The experiments with graphs read their files and compare two models, on tiny synthetic files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments import cora, multilabel


def test_rows_of_arff_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "@relation x\n@attribute a numeric\n@data\n% a comment\n0.5,-1,1,0\n2,0,0,1\n"
    (tmp_path / "plain.arff").write_text(text)
    (tmp_path / "small.arff.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("plain.arff", "small.arff"):
        X, Y = multilabel.rows(tmp_path / name, 2)
        assert (X.tolist(), Y.tolist()) == ([[0.5, -1.0], [2.0, 0.0]], [[1, 0], [0, 1]])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 1))
    Y = np.repeat((X > 0).astype(np.int64), 2, axis=1)
    monkeypatch.setattr(multilabel, "VARIANCES", (1.0,))
    found = multilabel.measured("all", (X, Y), (X, Y))
    assert found.exact > 0.8
    assert found.exact <= found.labels


def test_linked_papers(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    topics = ["law"] * 10 + ["art"] * 10
    lines = [f"p{i} {int(t == 'law')} {int(rng.random() < 0.5)} {t}" for i, t in enumerate(topics)]
    with gzip.open(tmp_path / "cora.content.gz", "wt") as file:
        file.write("\n".join(lines))
    (tmp_path / "cora.cites").write_text("\n".join(f"p{i} p{i + 1}" for i in range(19) if i != 9))
    words, graph, read = cora.read(tmp_path)
    assert words.shape == (20, 2)
    assert graph.nnz == 18
    together, apart, _, _ = cora.accuracies(words, graph, read, 0.5, 0)
    assert min(together, apart) == 1.0


def test_archived_draws_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        {
            "rate": rate,
            "seed": seed,
            "collective": 0.8 + 0.02 * seed,
            "alone": 0.7,
            "seconds": 3.0,
            "unconverged": 1,
        }
        for rate in (0.1, 0.2)
        for seed in (0, 1)
    ]
    text = cora.report(rows)
    assert "| 10 % | 2 | 81.0 ± 1.0 | 70.0 ± 0.0 | 11.0 ± 1.0 | 3 (3) | 1 |" in text
    cora.draw(rows, tmp_path / "cora.png")
    assert (tmp_path / "cora.png").stat().st_size > 1000


def test_letters_as_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthetic images: the graph has the chain's accuracy."""
    from experiments import graph_letters, ocr_letters

    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(8):
        letters = rng.choice(list("ab"), size=3).tolist()
        X.append([["constant", f"p{ord(one) - 97}", f"p{rng.integers(2, 6)}"] for one in letters])
        y.append(letters)
    few = ocr_letters.Method(ocr_letters.likelihood, (1.0,))
    monkeypatch.setattr(ocr_letters, "METHODS", {"likelihood": few})
    words = ocr_letters.Words(X, y)
    found = graph_letters.compared("likelihood", words, words)
    assert found.chain == found.graph == 1.0
