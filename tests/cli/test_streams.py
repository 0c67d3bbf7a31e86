"""Pipes: answers before the input ends, readers that go away, constant memory."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest
from shell import COLUMNS, COMMAND, column_text, environment, run, sentences

SENTENCE = "Ada NNP\nspoke VBD\nin IN\nRome NNP\n. .\n\n"
PATIENCE = 60.0  # seconds, for busy machines


# A process starts with the peak memory of the one that it was forked from: this small one stands between.
MEASURED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print("peak", usage.ru_maxrss, file=sys.stderr)
sys.exit(child.returncode)
"""


def start(*arguments: str | Path, measured: bool = False) -> subprocess.Popen[bytes]:
    command = [*COMMAND, *map(str, arguments)]
    if measured:
        command = [sys.executable, "-c", MEASURED, *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())


def receive(stream: IO[bytes], n_lines: int) -> list[str]:
    """So many lines from an unbuffered pipe, or a failure when they do not come."""
    data = b""
    while data.count(b"\n") < n_lines:
        ready, _, _ = select.select([stream], [], [], PATIENCE)
        assert ready, f"only {data!r} came while the input was open"
        piece = os.read(stream.fileno(), 1 << 16)
        assert piece, "the output ended too early"
        data += piece
    return data.decode().splitlines()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_answers_come_while_the_writer_pauses(model: Path, options: list[str]) -> None:
    process = start("tag", model, *options)
    assert process.stdin is not None
    assert process.stdout is not None
    n_lines = 1 if options else 6
    for _ in range(3):
        process.stdin.write(SENTENCE.encode())
        process.stdin.flush()
        lines = receive(process.stdout, n_lines)
        assert len(lines) == n_lines
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()
    process.stderr.close()  # type: ignore[union-attr]


def test_convert_streams_too() -> None:
    process = start("convert", "-", "-", "--to", "jsonl")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(SENTENCE.encode())
    process.stdin.flush()
    assert receive(process.stdout, 1)[0].startswith('{"word": ["Ada"')
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_named_pipe_is_a_pipe(model: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = start("tag", model, fifo)
    assert process.stdout is not None
    with open(fifo, "wb", buffering=0) as writer:
        writer.write(SENTENCE.encode())
        assert len(receive(process.stdout, 6)) == 6
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


@pytest.mark.parametrize("command", ["tag", "score", "convert"])
def test_a_reader_that_goes_away(command: str, model: Path, tmp_path: Path) -> None:
    big = tmp_path / "big.conll"
    big.write_text(column_text(sentences(8000, seed=5)))
    line = {
        "tag": f"{model} {big} | head -1",
        "score": f"{big} --raw --json | head -c 1",
        "convert": f"{big} - --to jsonl | head -1",
    }[command]
    script = f'set -o pipefail; "{COMMAND[0]}" -m fieldcraft {command} {line}'
    done = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, check=False)
    assert done.returncode in (0, 141)
    assert b"have none in common" in done.stderr if command == "score" else done.stderr == b""
    assert done.stdout


def test_a_killed_reader_ends_the_command(model: Path) -> None:
    process = start("tag", model)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    with pytest.raises(BrokenPipeError):
        _write_new_words(process.stdin, 1_000_000, length=20)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    assert process.wait(PATIENCE) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.alone
def test_ctrl_c_while_tagging(model: Path) -> None:
    process = start("tag", model)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(SENTENCE.encode())
    process.stdin.flush()
    receive(process.stdout, 6)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    _, err = process.communicate()
    assert b"Traceback" not in err


@pytest.mark.alone
def test_ctrl_c_while_training_leaves_a_model(tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(column_text(sentences(3000, seed=1)))
    model = tmp_path / "ner.fc"
    process = start("train", tmp_path / "train.conll", *COLUMNS, "--prior", "none", "-o", model)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(b"iteration 1/"):
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert b"stopped: interrupted" in err
    assert b"Traceback" not in err
    assert process.returncode == 130
    assert run("tag", model, stdin=SENTENCE).stdout.startswith("Ada NNP ")


@pytest.mark.slow
@pytest.mark.alone
def test_ten_million_tokens_in_little_memory(model: Path) -> None:
    """Every word is a new one, so that whatever is remembered of words would show."""
    process = start("tag", model, "--jobs", "1", measured=True)
    n_sequences, length = 500_000, 20
    thread = threading.Thread(target=_write_new_words, args=(process.stdin, n_sequences, length))
    thread.start()
    assert process.stdout is not None
    lines = 0
    while piece := process.stdout.read(1 << 20):
        lines += piece.count(b"\n")
    thread.join()
    assert process.stderr is not None
    told = process.stderr.read().decode()
    process.stdout.close()
    process.stderr.close()
    assert process.wait() == 0, told
    assert lines == n_sequences * (length + 1)
    (peak,) = [line.split()[1] for line in told.splitlines() if line.startswith("peak ")]
    assert int(peak) < 200 * 1024, told  # kilobytes


def _write_new_words(stream: IO[bytes] | None, n_sequences: int, length: int) -> None:
    assert stream is not None
    for i in range(0, n_sequences, 100):
        block = ["".join(f"w{j * length + t} NNP\n" for t in range(length)) + "\n" for j in range(i, i + 100)]
        stream.write("".join(block).encode())
    stream.close()
