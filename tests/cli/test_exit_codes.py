"""Refusals: exit code 1 and one line that says where and what; 2 for wrong usage; never a traceback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from shell import COLUMNS, COMMAND, column_text, environment, refused, run, run_apart, sentences

import fieldcraft as fc

TEXT = column_text(sentences(5, seed=9))


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["--version"]),
        (1, ["score", "absent"]),
        (1, ["tag", "absent.fc"]),
        (2, ["tag"]),
        (2, ["nonsense"]),
    ],
    ids=str,
)
def test_exit_codes_of_the_process(code: int, arguments: list[str], tmp_path: Path) -> None:
    done = run_apart(*arguments, cwd=tmp_path, check=code)
    assert "Traceback" not in done.stderr
    assert (done.stderr == "") == (code == 0)
    if code == 1:
        refused(done, "absent")


def test_a_full_disk(model: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "tag", str(model)]
        done = subprocess.run(
            command, input=TEXT.encode(), stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "fieldcraft: <stdout>: No space left on device\n"


def test_closed_standard_input(model: Path) -> None:
    script = f'"{COMMAND[0]}" -m fieldcraft tag "{model}" <&-'
    done = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("fieldcraft: <stdin>: is closed")


def test_missing_files(model: Path, tmp_path: Path) -> None:
    refused(run("tag", model, "absent.conll", cwd=tmp_path, check=1), "absent.conll", "No such file")
    refused(run("tag", "absent.fc", cwd=tmp_path, check=1), "absent.fc")
    refused(run("train", "absent.conll", "-o", "m.fc", cwd=tmp_path, check=1), "absent.conll")
    refused(run("score", "absent.conll", cwd=tmp_path, check=1), "absent.conll")
    refused(run("convert", "absent.conll", "out.conll", cwd=tmp_path, check=1), "absent.conll")
    refused(run("inspect", "absent.fc", cwd=tmp_path, check=1), "absent.fc")
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files(model: Path, tmp_path: Path) -> None:
    refused(run("tag", model, tmp_path, check=1), str(tmp_path), "directory")
    refused(run("inspect", tmp_path, check=1), str(tmp_path))
    secret = tmp_path / "secret.conll"
    secret.write_text(TEXT)
    secret.chmod(0)
    if not os.access(secret, os.R_OK):  # the superuser reads everything
        refused(run("tag", model, secret, check=1), "secret.conll", "Permission denied")


def test_unwritable_targets(model: Path, tmp_path: Path) -> None:
    away = tmp_path / "no" / "such" / "folder.conll"
    refused(run("tag", model, "-o", away, stdin=TEXT, check=1), "folder.conll")
    refused(run("convert", "-", away, stdin=TEXT, check=1), "folder.conll")
    refused(run("train", "-", *COLUMNS, "-o", away, stdin=TEXT, check=1), "folder.conll", "make it first")
    refused(run("train", "-", *COLUMNS, "-o", tmp_path, stdin=TEXT, check=1), "cannot be written")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (b"Ada NNP\nspoke VBD O O O\n", ["<stdin>:2:", "5 columns where 2 were expected"]),
        (b"Ada\n", ["<stdin>:1:", "1 columns where 3 were expected"]),
        (b"Ada NNP B-PER extra\n", ["<stdin>:1:", "4 columns where 3 were expected"]),
        (b"Ada NNP\nB\xe9la NNP\n", ["<stdin>:2:", "byte 0xe9 is not utf-8"]),
        (b"\x1f\x8b not gzip at all", ["<stdin>", "cannot be read"]),
    ],
)
def test_wrong_input(model: Path, text: bytes, parts: list[str]) -> None:
    refused(run("tag", model, stdin=text, check=1), *parts)


def test_another_encoding(model: Path) -> None:
    text = "Béla NNP\n\n"
    done = run("tag", model, "--encoding", "latin-1", stdin=text.encode("latin-1"))
    assert done.stdout.startswith("Béla NNP ")


def test_files_that_are_no_models(corpora: Path, tmp_path: Path) -> None:
    train = corpora / "train.conll"
    snapshot = tmp_path / "run.snap"
    run(
        "train",
        train,
        *COLUMNS,
        "--snapshot",
        snapshot,
        "--snapshot-every",
        "1",
        "-o",
        tmp_path / "m.fc",
        "-q",
    )
    refused(run("tag", snapshot, stdin=TEXT, check=1), "run.snap")
    refused(run("tag", train, stdin=TEXT, check=1), "train.conll")
    (tmp_path / "empty.fc").touch()
    refused(run("tag", tmp_path / "empty.fc", stdin=TEXT, check=1), "empty.fc")
    damaged = (tmp_path / "m.fc").read_bytes()[:-100]
    (tmp_path / "damaged.fc").write_bytes(damaged)
    refused(run("tag", tmp_path / "damaged.fc", stdin=TEXT, check=1), "damaged.fc")


@pytest.mark.parametrize("source", [["columns"], {"lazy": True}, {"columns": 7}, {"label": ["a"]}])
def test_a_model_that_lies_about_reading(source: object, corpora: Path, tmp_path: Path) -> None:
    crf = fc.ChainCRF("word").fit(fc.read(corpora / "train.conll", columns="word pos ner", label="ner"))
    crf.source_ = source
    crf.save(tmp_path / "m.fc")
    refused(run("tag", tmp_path / "m.fc", stdin=TEXT, check=1), "damaged")


def test_a_model_that_says_nothing_of_reading(corpora: Path, tmp_path: Path) -> None:
    corpus = fc.read(corpora / "train.conll", columns="word pos ner", label="ner")
    crf = fc.ChainCRF("word").fit(corpus)
    crf.source_ = None  # as trained from lists
    crf.save(tmp_path / "m.fc")
    refused(run("tag", tmp_path / "m.fc", stdin=TEXT, check=1), "pass --columns")
    assert run("tag", tmp_path / "m.fc", *COLUMNS, stdin=TEXT).stdout.startswith(TEXT.splitlines()[0])


def test_evaluation_needs_labels(model: Path) -> None:
    refused(run("evaluate", model, stdin=column_text(sentences(3, 1), width=2), check=1), "<stdin>:1:")
    refused(run("evaluate", model, stdin="", check=1), "no sequence was found")


@pytest.mark.parametrize(
    "arguments",
    [
        ["tag"],
        ["train", "x.conll"],
        ["nonsense"],
        ["tag", "m.fc", "--nonsense"],
        ["train", "x", "-o", "m.fc", "--prior", "nonsense"],
        ["train", "x", "-o", "m.fc", "--min-count", "0"],
        ["train", "x", "-o", "m.fc", "--variance", "wide"],
        ["tag", "m.fc", "--k-best", "0"],
        ["score", "--alpha", "2"],
        ["convert", "a", "b", "--to", "nonsense"],
        ["--jobs", "0", "demo"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path, check=2)
    assert done.stdout == ""
    assert "Usage: fieldcraft" in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_that_do_not_fit(corpora: Path, tmp_path: Path) -> None:
    def train(*options: str) -> None:
        arguments = ["train", corpora / "train.conll", *COLUMNS, "-o", tmp_path / "m.fc", "-q", *options]
        refused(run(*arguments, check=1), options[-2].lstrip("-"))

    train("--prior", "laplacian", "--variance", "3")
    train("--patience", "3")
    train("--gazetteer", "cities")


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = f'fieldcraft() {{ "{COMMAND[0]}" -m fieldcraft "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def slow(line: str) -> Any:
    """A case that runs with the slow tests: each starts a process."""
    return pytest.param(line, marks=pytest.mark.slow)


CLOSED = "fieldcraft: <stdout>: is closed; open standard output, or name a file to write to\n"


@pytest.mark.parametrize(
    "line",
    [
        "demo",
        "tag ner.fc test.conll",
        "check ner.fc",
        "--help",
        slow("evaluate ner.fc test.conll"),
        slow("score test.conll --raw --gold -1 --predicted -2"),
        slow("compare test.conll test.conll test.conll"),
        slow("inspect ner.fc"),
        slow("explain ner.fc test.conll --json"),
        slow("convert test.conll -"),
        slow("--version"),
    ],
)
def test_closed_standard_output(line: str, model: Path) -> None:
    done = in_shell(f"fieldcraft {line} >&-", model.parent)
    warnings = [text for text in done.stderr.splitlines(keepends=True) if text.startswith("warning: ")]
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "".join(warnings) + CLOSED)


@pytest.mark.slow
def test_closed_streams_that_are_not_needed(model: Path, tmp_path: Path) -> None:
    train = f"fieldcraft train {model.parent}/train.conll --columns word,pos,ner --templates word -o m.fc -q"
    done = in_shell(f"{train} <&- >&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert fc.load(tmp_path / "m.fc").classes_.tolist() == fc.load(model).classes_.tolist()
    done = in_shell(f"fieldcraft tag m.fc {model.parent}/test.conll -o out <&- >&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().count("\n") > 100


def test_messages_do_not_go_to_standard_output(model: Path) -> None:
    done = in_shell("fieldcraft tag ner.fc absent.conll 2>&-", model.parent)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_closed_standard_input_of_training(tmp_path: Path) -> None:
    done = in_shell("fieldcraft train - -o m.fc <&-", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("fieldcraft: <stdin>: is closed")


@pytest.mark.parametrize("line", ["--help", "check ner.fc", slow("--version"), slow("inspect ner.fc")])
def test_a_reader_that_is_not_there(line: str, model: Path) -> None:
    """Its end of the pipe is closed before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, *line.split()]
    done = subprocess.run(
        command, cwd=model.parent, env=environment(), stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.alone
def test_the_demo_without_a_reader(tmp_path: Path) -> None:
    """As `fieldcraft demo | head -1`: the exit code of a program that a closed pipe stopped, no traceback."""
    done = in_shell('fieldcraft demo | head -1; echo "${PIPESTATUS[0]}"', tmp_path)
    assert done.stdout.splitlines() == ["fieldcraft demo: reading postal addresses", "141"]
    assert [line for line in done.stderr.splitlines() if not line.startswith("iteration")] == []


@pytest.mark.parametrize("line", ["check ner.fc", slow("evaluate ner.fc test.conll"), slow("--version")])
def test_a_full_disk_behind_standard_output(line: str, model: Path) -> None:
    done = in_shell(f"fieldcraft {line} > /dev/full", model.parent)
    assert (done.returncode, done.stderr) == (1, "fieldcraft: <stdout>: No space left on device\n")


@pytest.mark.slow
def test_a_full_disk_behind_a_file(model: Path, tmp_path: Path) -> None:
    """No file may grow beyond a kilobyte: the message names the file, and nothing is left."""
    for line in (
        f"tag {model} {model.parent}/test.conll -o out",
        f"inspect {model} --html out",
        f"convert {model.parent}/test.conll out",
        f"train {model.parent}/train.conll -q -o out --templates c0",
    ):
        done = in_shell(f"ulimit -f 1; fieldcraft {line}", tmp_path)
        assert done.returncode == 1, line
        assert done.stderr.splitlines()[-1].startswith("fieldcraft: out: "), done.stderr
        assert "File too large" in done.stderr
        assert list(tmp_path.iterdir()) == []
