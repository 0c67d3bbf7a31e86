"""`train --partial`: unknown labels and candidates in files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from shell import COLUMNS, column_text, run, sentences

import fieldcraft as fc


def forgetful(unknown: str = "_", between: str = "|") -> str:
    """A training file in which a quarter of the labels is unknown and a quarter has a second candidate."""
    rng = random.Random(5)

    def partly(label: str) -> str:
        u = rng.random()
        other = rng.choice(["O", "B-PER", "I-LOC"])
        return unknown if u < 0.25 else label if u > 0.5 else between.join(sorted({label, other}))

    return column_text([[(word, tag, partly(label)) for word, tag, label in s] for s in sentences(150, 1)])


@pytest.mark.parametrize("optimiser", ["auto", "em"])
def test_partial_labels(corpora: Path, tmp_path: Path, optimiser: str) -> None:
    model = tmp_path / "m.fc"
    options = ["--partial", "--templates", "word[-1..1]\nedge", "--optimiser", optimiser, "-o", model]
    done = run("train", "-", *COLUMNS, "--dev", corpora / "dev.conll", *options, stdin=forgetful())
    assert "tokens have an unknown label or several candidates" in done.stderr
    assert "5 labels:" in done.stderr
    tagged = run("tag", model, corpora / "test.conll").stdout
    right = [line.split()[-1] == line.split()[-2] for line in tagged.splitlines() if line]
    assert sum(right) / len(right) > 0.9
    assert "partial" not in str(fc.load(model).source_)


def test_other_signs_are_the_same(tmp_path: Path) -> None:
    for name, text, signs in (
        ("a.fc", forgetful(), []),
        ("b.fc", forgetful("??", "/"), ["--unknown", "??", "--between", "/"]),
    ):
        options = [*signs, "--templates", "word", "-o", tmp_path / name]
        run("train", "-", *COLUMNS, "--partial", "--quiet", *options, stdin=text)
    a, b = (fc.load(tmp_path / name) for name in ("a.fc", "b.fc"))
    assert a.weights_.tolist() == b.weights_.tolist()


def test_another_objective_is_refused(tmp_path: Path) -> None:
    options = ["--partial", "--objective", "likelihood", "-o", tmp_path / "m.fc"]
    done = run("train", "-", *COLUMNS, "--quiet", *options, stdin=forgetful(), check=1)
    assert "need --objective marginal_likelihood" in done.stderr
