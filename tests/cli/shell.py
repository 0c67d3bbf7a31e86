"""Running the command as a shell would, on a small synthetic corpus that is written here."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from fieldcraft.cli.app import app

FORK_SERVER = Path(__file__).with_name("fork_server.py")
COMMAND = [sys.executable, "-m", "fieldcraft"]
COLUMNS = ["--columns", "word,pos,ner"]
NAMES = ["Ada", "Paul", "Mary", "Omar", "Lena", "Tariq"]
SURNAMES = ["Lovelace", "Smith", "Curie", "Khan", "York", "Paris"]
PLACES = ["Zurich", "New York", "Paris", "Addis Ababa", "Rome", "Omar"]
VERBS = ["spoke", "lived", "worked", "sang", "slept"]


def sentence(rng: random.Random) -> list[tuple[str, str, str]]:
    """Tokens with word, tag and label in IOB2."""
    person = [rng.choice(NAMES), *([rng.choice(SURNAMES)] if rng.random() < 0.5 else [])]
    place = rng.choice(PLACES).split()
    tokens = [(word, "NNP", "I-PER" if i else "B-PER") for i, word in enumerate(person)]
    tokens += [(rng.choice(VERBS), "VBD", "O"), ("in", "IN", "O")]
    tokens += [(word, "NNP", "I-LOC" if i else "B-LOC") for i, word in enumerate(place)]
    return [*tokens, (".", ".", "O")]


def sentences(n: int, seed: int) -> list[list[tuple[str, str, str]]]:
    rng = random.Random(seed)
    return [sentence(rng) for _ in range(n)]


def column_text(given: list[list[tuple[str, str, str]]], width: int = 3) -> str:
    return "".join("".join(" ".join(token[:width]) + "\n" for token in tokens) + "\n" for tokens in given)


def document_text(n: int, seed: int, size: int = 5) -> str:
    """Documents of a few sentences, with the lines of CoNLL-2003 that open them."""
    given = sentences(n * size, seed)
    return "".join(
        "-DOCSTART- -X- O\n\n" + column_text(given[i : i + size]) for i in range(0, n * size, size)
    )


def write_corpora(folder: Path) -> None:
    for name, n, seed in (("train", 150, 1), ("dev", 30, 2), ("test", 40, 3)):
        (folder / f"{name}.conll").write_text(column_text(sentences(n, seed)), encoding="utf-8")
    (folder / "docs.conll").write_text(document_text(20, 4), encoding="utf-8")


def run(
    *arguments: str | Path, cwd: Path | None = None, stdin: str | bytes = b"", check: int | None = 0
) -> subprocess.CompletedProcess[str]:
    """The command in this process, which is quick; `check` is the exit code that is expected."""
    command = [*map(str, arguments)]
    with _folder(cwd):
        done = CliRunner(env={"COLUMNS": "100"}).invoke(app, command, input=stdin, prog_name="fieldcraft")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return _checked(subprocess.CompletedProcess(command, done.exit_code, done.stdout, done.stderr), check)


def run_apart(
    *arguments: str | Path, cwd: Path | None = None, stdin: str | bytes = b"", check: int | None = 0
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a shell runs it."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, check=False, env=environment(), timeout=120
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    return _checked(subprocess.CompletedProcess(command, done.returncode, out, err), check)


def shell(line: str, cwd: Path, stderr: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which `fieldcraft` is the command, run by the fork server."""
    client = f'"{sys.executable}" -I -S "{FORK_SERVER}" "{_server()}"'
    return subprocess.run(
        ["bash", "-c", f'fieldcraft() {{ {client} "$@"; }}\n{line}'],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=stderr,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@cache
def _server() -> str:
    """The socket of this process's fork server, which is started once."""
    folder = tempfile.mkdtemp(prefix="fieldcraft-")
    path, pipe = f"{folder}/socket", subprocess.PIPE
    server = subprocess.Popen(
        [sys.executable, FORK_SERVER, "serve", path], stdin=pipe, stdout=pipe, env=environment()
    )
    assert server.stdin is not None
    assert server.stdout is not None
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.communicate)  # closes its input, whereupon it ends
    assert server.stdout.readline() == b"ready\n"
    return path


def _checked(done: subprocess.CompletedProcess[str], check: int | None) -> subprocess.CompletedProcess[str]:
    assert check is None or done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done


@contextmanager
def _folder(path: Path | None) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(path or before)
    try:
        yield
    finally:
        os.chdir(before)


def environment(**more: str) -> dict[str, str]:
    """Warnings are errors, text is UTF-8, terminals are wide."""
    return {**os.environ, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1", "COLUMNS": "100", **more}


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """One clear line on standard error, no traceback."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("fieldcraft: ")
    assert [part for part in parts if part not in lines[0]] == [], lines[0]
