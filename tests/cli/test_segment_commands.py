"""`fieldcraft train --structure segments`: a model of segments, which `tag` uses as any other."""

from __future__ import annotations

from pathlib import Path

import pytest

import fieldcraft as fc
from cli.shell import run

LINES = """Ann B-PER
lives O
in O
New B-LOC
York I-LOC

in O
York B-LOC
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "train.conll"
    path.write_text(LINES * 3, encoding="utf-8")
    return path


def test_train_and_tag(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "spans.fc"
    options = ["--templates", "c0", "--structure", "segments", "--max-length", "PER=2,LOC=3", "-q"]
    templates = ["--segment-templates", "segment.length\nfirst(c0)"]
    run("train", corpus, *options, *templates, "-o", model)
    crf = fc.load(model)
    assert isinstance(crf, fc.SegmentCRF)
    assert crf.max_length_ == {"LOC": 3, "PER": 2, "O": 1}
    tagged = run("tag", model, corpus).stdout.splitlines()
    assert [line.split()[-1] for line in tagged[:5]] == ["B-PER", "O", "O", "B-LOC", "I-LOC"]


def test_codes(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "coded.fc"
    run("train", corpus, "--templates", "c0[-1..0]", "--codes", "6", "-o", model)
    crf = fc.load(model)
    assert isinstance(crf, fc.CodedCRF)
    assert crf.code_.shape == (4, 6)
    tagged = run("tag", model, corpus).stdout.splitlines()
    assert [line.split()[-1] for line in tagged[:5]] == ["B-PER", "O", "O", "B-LOC", "I-LOC"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--max-length", "3"], "--max-length is for segments; add --structure segments"),
        (["--structure", "segments", "--max-length", "many"], "write auto, a number, or PER=5,LOC=8"),
        (["--structure", "segments", "--max-length", "1"], "where max_length allows 1"),
        (["--structure", "segments", "--codes", "4"], "--codes is for chains"),
        (["--codes", "4", "--patience", "2"], "--patience is not for --codes"),
        (["--codes", "1"], "1 bits have 2 words"),
    ],
)
def test_refusals(corpus: Path, tmp_path: Path, options: list[str], error: str) -> None:
    done = run("train", corpus, "--templates", "c0", *options, "-o", tmp_path / "no.fc", check=1)
    assert error in done.stderr
