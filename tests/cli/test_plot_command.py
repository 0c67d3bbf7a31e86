"""fieldcraft plot: every kind of picture from files, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import COLUMNS, run, write_corpora

import fieldcraft as fc
from fieldcraft.cli.pictures import PICTURES

pytest.importorskip("matplotlib")
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plots")
    write_corpora(made)
    run("train", "train.conll", *COLUMNS, "--dev", "dev.conll", "-o", "ner.fc", "-q", cwd=made)
    run(
        *("tune", "train.conll", *COLUMNS, "--dev", "dev.conll", "--over", "variance=0.1,10", "-q"),
        *("--results", "rows.jsonl"),
        cwd=made,
    )
    run(
        *("bake-off", "train.conll", *COLUMNS, "--dev", "dev.conll", "--entry", "lbfgs"),
        *("--entry", "averaged_perceptron", "--json", "runs.json", "-q", "--epochs", "3"),
        cwd=made,
    )
    graph = fc.FactorGraph([2, 3])
    graph.add(scope=[[0, 1]], table=[[[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]]])
    graph.write(made / "model.uai")
    return made


@pytest.mark.parametrize("kind", [kind for kind in PICTURES if kind != "sentence"])
def test_every_kind(kind: str, folder: Path) -> None:
    first = {"tuning": "rows.jsonl", "bake-off": "runs.json", "graph": "model.uai"}.get(kind, "ner.fc")
    files = ["test.conll"] if PICTURES[kind].needs in ("labelled", "files") else []
    done = run("plot", kind, first, *files, "-o", f"{kind}.png", cwd=folder)
    assert (folder / f"{kind}.png").read_bytes().startswith(PNG)
    assert done.stderr == f"{kind}.png written\n"


def test_quiet(folder: Path) -> None:
    assert run("plot", "graph", "model.uai", "-o", "quiet.svg", "-q", cwd=folder).stderr == ""
    assert (folder / "quiet.svg").read_bytes().startswith(b"<?xml")


def test_a_sentence_is_a_page(folder: Path) -> None:
    run("plot", "sentence", "ner.fc", "test.conll", "--sequence", "3", "-o", "s.html", "-q", cwd=folder)
    page = (folder / "s.html").read_text(encoding="utf-8")
    assert ">predicted<" in page
    assert "PER 0." in page or "PER 1." in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pie", "ner.fc", "-o", "x.png"], 2, "'pie' is not one of"),
        (["curves", "ner.fc", "test.conll", "-o", "x.png"], 2, "leave out test.conll"),
        (["curves", "ner.fc", "-o", "ner.fc"], 1, "same file as the input"),
        (["curves", "ner.fc", "-o", "x.docx"], 1, "end the name with .png or .svg"),
        (["sentence", "ner.fc", "test.conll", "-o", "x.png"], 1, "end the name with .html"),
        (["segments", "ner.fc", "test.conll", "--sequence", "99", "-o", "x.png"], 1, "no sequence 99"),
        (["tuning", "runs.json", "-o", "x.png"], 1, "no results of `tune`"),
        (["bake-off", "rows.jsonl", "-o", "x.png"], 1, "no results of `bake-off`"),
    ],
)
def test_refusals(arguments: list[str], code: int, message: str, folder: Path) -> None:
    done = run("plot", *arguments, cwd=folder, check=code)
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "x.png").exists()
