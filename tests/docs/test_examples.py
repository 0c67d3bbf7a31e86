"""Every example runs, says where its data is synthetic, warns of nothing and leaves no file."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    "demo.py": ["no address in it is real", "all fields", "Strongest features", "postcode"],
    "entities.py": ["synthetic: seminars", "best development F", "speaker", "token accuracy"],
    "feature_dicts.py": ["synthetic: seminars", "speaker", "token accuracy"],
    "acronyms.py": ["synthetic words", "counter of O", "right:"],
    "addresses_from_text.py": ["synthetic: addresses", "postcode", "LS1 4AP", "to a person"],
    "confidence.py": ["synthetic: addresses", "handed over", "log p"],
    "from_pycrfsuite.py": ["synthetic: seminars", "token accuracy", "B-location  -> I-location"],
    "from_sklearn_crfsuite.py": ["synthetic: seminars", "weighted avg", "cross-validated F1"],
    "functional_chain.py": ["log Z", "no sun after rain"],
    "label_bias.py": [
        "Synthetic words",
        "CMM: all/DT the/DT",
        "CRF: all/PDT the/DT",
        "MEMM: r/1",
        "CRF: r/4",
    ],
    "many_labels.py": ["exact chain", "searched with 4 states", "a binary chain for each of 30 bits"],
    "ranks.py": ["synthetic: seminars", "80 sequences trained on", "held-out score"],
    "segments.py": ["F of spans", "segments of at most"],
    "why_this_label.py": ["synthetic: addresses", "Strongest positive", "tokens are wrong", "all together"],
}

REAL = {  # examples that read public corpora, and the folder that they need
    "document_votes.py": ("conll2003", ["first model", "with votes"]),
    "handwritten_words.py": ("ocr_letters", ["losses of the starts", "words are right"]),
    "linked_papers.py": ("cora", ["5,278 links", "words and citations"]),
    "music_emotions.py": ("multilabel", ["pairs=none", "pieces all right", "amazed"]),
    "snakes.py": ("snakes", ["cell by cell", "of the cells of snakes"]),
    "tags_and_phrases.py": ("conll2000", ["3 chunk labels", "per cent right"]),
}
DATA = Path(os.environ.get("FIELDCRAFT_DATA", ROOT.parent / "shared" / "data")).resolve()


def run(script: Path, *arguments: str, folder: Path) -> str:
    """What a script prints; warnings are errors and the working folder is an empty one."""
    command = [sys.executable, "-W", "error", str(script), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_listed() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*EXAMPLES, *REAL}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which is quicker; warnings are errors here too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    printed = capsys.readouterr().out
    assert [words for words in EXAMPLES[name] if words not in printed] == []
    assert "nan" not in printed.lower().split()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_example_on_real_data_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, expected = REAL[name]
    if not (DATA / folder).exists():
        pytest.skip(f"{folder} is not in {DATA}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, str(DATA)])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    printed = capsys.readouterr().out
    assert [words for words in expected if words not in printed] == []


@pytest.mark.slow
def test_measurements_behind_the_decisions_print(tmp_path: Path) -> None:
    script = ROOT / "docs" / "decisions" / "measure.py"
    printed = run(script, "001", "002", "003", "004", "006", folder=tmp_path)
    assert "equal bits: True" in printed
    assert printed.count(" ms") == 9
