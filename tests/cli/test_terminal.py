"""What data contains is shown, never interpreted: no escape sequence of a label reaches a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import COLUMNS, run

import fieldcraft as fc

RED = "\x1b[31mB-LOC\x07"
SHOWN = r"\x1b[31mB-LOC\x07"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "red.conll"
    lines = [f"Rome NNP {RED}", "fell VBD O", "", f"Paris NNP {RED}", f"rose VBD \x9b1mX{RED}", ""]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def controls(text: str) -> set[str]:
    return {c for c in text if not c.isprintable() and c not in "\n\t"}


def test_the_report_of_train(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.conll").write_text(f"Rome NNP never{RED}\n\n")
    done = run("train", corpus, *COLUMNS, "--dev", tmp_path / "dev.conll", "-o", tmp_path / "m.fc")
    assert controls(done.stderr) == set()
    assert SHOWN in done.stderr
    assert f"never{SHOWN}" in done.stderr
    assert fc.load(tmp_path / "m.fc").classes_.tolist() == sorted([RED, "O", f"\x9b1mX{RED}"])


def test_scores(corpus: Path, tmp_path: Path) -> None:
    run("train", corpus, *COLUMNS, "-o", tmp_path / "m.fc", "-q")
    for arguments in (
        ["evaluate", tmp_path / "m.fc", corpus],
        ["score", corpus, "--raw", "--gold", "-1", "--predicted", "-2"],
        ["compare", corpus, corpus, corpus, "--raw"],
        ["inspect", tmp_path / "m.fc"],
    ):
        assert controls(run(*arguments).stdout) == set(), arguments[0]


def test_errors(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / f"a{RED}".replace("/", "")
    done = run("tag", path, check=1)
    assert controls(done.stderr) == set()
    assert SHOWN in done.stderr
    with pytest.raises(fc.FieldcraftError) as error:
        fc.read(corpus, columns=["word", "pos", RED], label="ner")
    assert controls(str(error.value)) == set()
    assert SHOWN in str(error.value)
    assert str(fc.FieldcraftError("a\nb\ud800 naïve 日本")) == r"a\nb\ud800 naïve 日本"
