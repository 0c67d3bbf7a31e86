"""No command writes over what it reads: the same file is refused, by any name, before anything is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from shell import COLUMNS, COMMAND, environment, refused, run

from fieldcraft.cli.app import COMMANDS

# command line with {file}, the output that names an input; and the input that it names
CASES: dict[str, tuple[str, str]] = {
    "train": ("train train.conll -o {file}", "train.conll"),
    "train, second file": ("train dev.conll train.conll -o {file}", "train.conll"),
    "train --dev": ("train train.conll --dev dev.conll -o {file}", "dev.conll"),
    "train --snapshot": ("train train.conll -o new.fc --snapshot {file} --snapshot-every 1", "train.conll"),
    "train --templates": ("train train.conll --templates templates -o {file}", "templates"),
    "train --gazetteer": ("train train.conll --gazetteer places=places -o {file}", "places"),
    "tune": ("tune train.conll --dev dev.conll --over variance=1,2 -o {file}", "train.conll"),
    "tune --results": ("tune train.conll --dev dev.conll --over variance=1,2 --results {file}", "dev.conll"),
    "tune --plot": ("tune train.conll --dev dev.conll --over variance=1,2 --plot {file}", "train.conll"),
    "bake-off --json": ("bake-off train.conll --dev dev.conll --json {file}", "train.conll"),
    "bake-off --markdown": ("bake-off train.conll --dev dev.conll --markdown {file}", "dev.conll"),
    "bake-off --plot": ("bake-off train.conll --dev dev.conll --plot {file}", "dev.conll"),
    "pool train": ("pool train train.conll --dev dev.conll -o {file}", "dev.conll"),
    "pool combine": ("pool combine ner.fc ner.fc -o {file}", "ner.fc"),
    "pool weigh": ("pool weigh ner.fc --on dev.conll -o {file}", "dev.conll"),
    "graph show": ("graph show model.uai -o {file}", "model.uai"),
    "graph train": ("graph train nodes.csv edges.csv -o {file}", "nodes.csv"),
    "graph predict": ("graph predict ner.fc nodes.csv edges.csv -o {file}", "edges.csv"),
    "plot": ("plot confusion ner.fc test.conll -o {file}", "test.conll"),
    "plot, the model": ("plot transitions ner.fc -o {file}", "ner.fc"),
    "tag": ("tag ner.fc test.conll -o {file}", "test.conll"),
    "tag, the model": ("tag ner.fc test.conll -o {file}", "ner.fc"),
    "inspect": ("inspect ner.fc --html {file}", "ner.fc"),
    "explain": ("explain ner.fc test.conll --html {file}", "test.conll"),
    "explain, the model": ("explain ner.fc --text --html {file}", "ner.fc"),
    "convert": ("convert train.conll {file} --to jsonl", "train.conll"),
}
WITHOUT_OUTPUT = {"demo", "evaluate", "score", "compare", "check", "pool diagnose"}
WITHOUT_OUTPUT |= {"graph infer", "graph decode"}


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    for path in model.parent.glob("*.conll"):
        shutil.copy(path, tmp_path)
    shutil.copy(model, tmp_path / "ner.fc")
    (tmp_path / "templates").write_text("c0\n")
    (tmp_path / "places").write_text("Rome\n")
    (tmp_path / "nodes.csv").write_text("id,label\na,x\nb,y\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "model.uai").write_text("MARKOV\n1\n2\n1\n1 0\n2 1 3\n")
    return tmp_path


def test_every_command_is_in_the_table() -> None:
    lines = [line for line, _ in CASES.values()]
    named = {name for name in COMMANDS if any(line.startswith(f"{name} ") for line in lines)}
    assert named | WITHOUT_OUTPUT == set(COMMANDS)


@pytest.mark.parametrize("kind", ["name", "path", "link", "hard link"])
@pytest.mark.parametrize("case", CASES)
def test_an_input_is_not_an_output(case: str, kind: str, folder: Path) -> None:
    line, name = CASES[case]
    if kind == "link":
        (folder / "other").symlink_to(name)
    elif kind == "hard link":
        os.link(folder / name, folder / "other")
    given = {"name": name, "path": str(folder / name)}.get(kind, "other")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(*line.format(file=given).split(), cwd=folder, check=1)
    refused(done, given, "is the same file as the input", name, "choose another file")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "line",
    [
        "train train.conll -o new --snapshot new",
        "tune train.conll --dev dev.conll --over variance=1,2 -o new --results new",
        "tune train.conll --dev dev.conll --over variance=1,2 --results new --plot ./new.weights",
        "bake-off train.conll --dev dev.conll --json new --markdown new",
    ],
)
def test_one_file_for_two_outputs(line: str, folder: Path) -> None:
    refused(run(*line.split(), cwd=folder, check=1), "new", "is named for two outputs")
    assert not (folder / "new").exists()


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = f'fieldcraft() {{ "{COMMAND[0]}" -m fieldcraft "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("fieldcraft train - --columns word,pos,ner -o train.conll < train.conll", "train.conll"),
        ("fieldcraft tag ner.fc test.conll >> test.conll", "test.conll"),
        ("fieldcraft convert - train.conll < train.conll", "train.conll"),
    ],
)
def test_standard_streams_are_files_too(line: str, kept: str, folder: Path) -> None:
    before = (folder / kept).read_bytes()
    done = shell(line, folder)
    assert done.returncode == 1
    assert "is the same file as the input" in done.stderr
    assert (folder / kept).read_bytes() == before


def test_what_is_no_file_is_read_and_written(folder: Path) -> None:
    done = shell("fieldcraft tag ner.fc /dev/null -o /dev/null > /dev/null < /dev/null", folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_snapshots_and_results_are_continued(folder: Path) -> None:
    train = [
        "train",
        "train.conll",
        *COLUMNS,
        "-o",
        "new.fc",
        "--snapshot",
        "s",
        "--snapshot-every",
        "1",
        "-q",
    ]
    run(*train, cwd=folder)
    run(*train, "--resume", cwd=folder)
    tune = ["tune", "train.conll", "--dev", "dev.conll", "--templates", "c0", "--over", "variance=1,2", "-q"]
    run(*tune, "--results", "r", cwd=folder)
    run(*tune, "--results", "r", cwd=folder)


def test_a_model_is_saved_onto_the_file_that_it_was_loaded_from(folder: Path) -> None:
    import fieldcraft as fc

    crf = fc.load(folder / "ner.fc")
    crf.save(folder / "ner.fc")
    assert fc.load(folder / "ner.fc").weights_.tobytes() == crf.weights_.tobytes()
