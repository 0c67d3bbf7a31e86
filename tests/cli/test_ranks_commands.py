"""`mpiexec -n N fieldcraft train`: real jobs, their errors and what is left after a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fieldcraft as fc
from cli.shell import COLUMNS, column_text, environment, refused, run, run_apart, sentences

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec") or ""
needs_mpi = pytest.mark.skipif(
    not (MPIEXEC and find_spec("mpi4py")), reason="mpi4py or mpiexec is not installed"
)
PROGRAM = """import os, pathlib, sys
pathlib.Path(f"pid.{os.environ['PMI_RANK']}").write_text(str(os.getpid()))
sys.argv[0] = "fieldcraft"
from fieldcraft.cli import main
main()
"""
SETTINGS = [*COLUMNS, "--templates", "word[-1..1]", "--variance", "1000", "--optimiser", "lbfgs"]


def start(n: int, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """A job whose ranks write their process ids to pid.0, pid.1, …"""
    command = [MPIEXEC, "-n", str(n), sys.executable, "-c", PROGRAM, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, stdout=pipe, stderr=pipe, text=True, env=environment())


def ranks(n: int, *arguments: str, cwd: Path, check: int = 0) -> subprocess.CompletedProcess[str]:
    job = start(n, *arguments, cwd=cwd)
    out, err = job.communicate(timeout=120)
    assert job.returncode == check, (job.returncode, out, err)
    return subprocess.CompletedProcess(job.args, job.returncode, out, err)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, n in (("train", 300), ("dev", 30)):
        (tmp_path / f"{name}.conll").write_text(column_text(sentences(n, n)), encoding="utf-8")
    return tmp_path


@needs_mpi
def test_two_ranks_write_the_model_of_one_process(folder: Path) -> None:
    command = ["train", "train.conll", "--dev", "dev.conll", *SETTINGS]
    run(*command, "-o", "one.fc", cwd=folder)
    done = ranks(2, *command, "-o", "two.fc", cwd=folder)
    assert "tokens on each of 2 ranks" in done.stderr
    assert "snapshots of the training go to two.fc.snapshot" in done.stderr
    assert done.stderr.count("wrote two.fc") == 1
    one, two = fc.load(folder / "one.fc"), fc.load(folder / "two.fc")
    assert one.features_.digest == two.features_.digest
    assert one.source_ == two.source_
    np.testing.assert_allclose(one.objective_value_, two.objective_value_, rtol=1e-8)


@needs_mpi
def test_other_inputs_are_sent_by_rank_0(folder: Path) -> None:
    fc.write(fc.read(folder / "train.conll", columns="word pos ner", label="ner"), folder / "train.jsonl")
    settings = ["--label", "ner", *SETTINGS[2:], "-q"]
    ranks(2, "train", "train.jsonl", *settings, "-o", "two.fc", cwd=folder)
    run("train", "train.jsonl", *settings, "-o", "one.fc", cwd=folder)
    one, two = fc.load(folder / "one.fc"), fc.load(folder / "two.fc")
    assert one.features_.digest == two.features_.digest
    np.testing.assert_allclose(one.objective_value_, two.objective_value_, rtol=1e-8)


@needs_mpi
def test_an_error_of_one_rank_is_printed_once(folder: Path) -> None:
    with (folder / "train.conll").open("a") as file:
        file.write("two columns\n")
    done = ranks(2, "train", "train.conll", *SETTINGS, "-q", "-o", "x.fc", cwd=folder, check=1)
    refused(done, "rank 1: train.conll:", "2 columns where 3 were expected")
    assert not (folder / "x.fc").exists()


def test_other_commands_and_missing_mpi_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "0")
    refused(run_apart("check", "x.fc", cwd=folder, check=1), "check runs in one process", "mpiexec")
    (folder / "mpi4py.py").write_text("raise ImportError('no mpi4py')")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    command = ["train", "train.conll", "-o", "x.fc"]
    refused(run_apart(*command, cwd=folder, check=1), "needs mpi4py", "pip install mpi4py mpich")
    monkeypatch.setenv("PMI_RANK", "1")
    assert run_apart(*command, cwd=folder, check=1).stderr == ""  # rank 0 has printed it


@needs_mpi
@pytest.mark.slow
@pytest.mark.alone
def test_a_killed_job_ends_and_is_taken_up_again(folder: Path) -> None:
    command = ["train", "train.conll", *SETTINGS, "--snapshot-every", "1"]
    ranks(2, *command, "-o", "whole.fc", cwd=folder)
    snapshot = folder / "part.fc.snapshot"
    job = start(2, *command, "-o", "part.fc", cwd=folder)
    until = time.monotonic() + 60
    while not snapshot.exists() and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(int((folder / "pid.1").read_text()), signal.SIGKILL)
    assert job.wait(timeout=30) != 0
    job.communicate()
    assert not (folder / "part.fc").exists()
    refused(
        ranks(3, *command, "-q", "--resume", "-o", "part.fc", cwd=folder, check=1),
        "a snapshot of another training",
    )
    ranks(2, *command, "--resume", "-o", "part.fc", cwd=folder)
    whole, part = fc.load(folder / "whole.fc"), fc.load(folder / "part.fc")
    assert part.weights_.tobytes() == whole.weights_.tobytes()
    assert part.n_iter_ == whole.n_iter_


@needs_mpi
@pytest.mark.slow
@pytest.mark.alone
def test_ctrl_c_stops_all_ranks_after_the_iteration(folder: Path) -> None:
    command = ["train", "train.conll", *SETTINGS, "--snapshot-every", "1", "-o", "part.fc"]
    job = start(2, *command, cwd=folder)
    until = time.monotonic() + 60
    while not (folder / "part.fc.snapshot").exists() and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(int((folder / "pid.1").read_text()), signal.SIGINT)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 130, err
    assert "stopped: interrupted" in err
    assert len(fc.load(folder / "part.fc").weights_)


@needs_mpi
def test_tagging_a_folder_gives_the_bytes_of_one_process(folder: Path) -> None:
    run("train", "train.conll", *SETTINGS, "-q", "--max-iterations", "3", "-o", "m.fc", cwd=folder)
    (folder / "texts" / "inner").mkdir(parents=True)
    for i, name in enumerate(("a.conll", "b.conll", "inner/a.conll", "inner/empty.conll")):
        text = column_text(sentences(5 * (4 - i), i) if "empty" not in name else [])
        (folder / "texts" / name).write_text(text, encoding="utf-8")
    run("tag", "m.fc", "texts", "--output-dir", "one", "--confidence", cwd=folder)
    ranks(2, "tag", "m.fc", "texts", "--output-dir", "two", "--confidence", cwd=folder)
    tagged = [
        {p.relative_to(d): p.read_bytes() for p in d.rglob("*.conll")}
        for d in (folder / "one", folder / "two")
    ]
    assert tagged[0] == tagged[1]
    assert [str(path) for path in sorted(tagged[0])] == [
        "a.conll",
        "b.conll",
        "inner/a.conll",
        "inner/empty.conll",
    ]
    refused(ranks(2, "tag", "m.fc", "dev.conll", cwd=folder, check=1), "pass --output-dir")


def test_output_folders_are_checked(folder: Path) -> None:
    run("train", "train.conll", *SETTINGS, "-q", "--max-iterations", "1", "-o", "m.fc", cwd=folder)
    (folder / "inner").mkdir()
    (folder / "inner" / "dev.conll").write_text("Ada NNP\n", encoding="utf-8")
    for arguments, problem in (
        (["dev.conll", "-o", "x", "--output-dir", "out"], "both given"),
        (["-", "--output-dir", "out"], "standard input has no name"),
        (["dev.conll", "inner", "--output-dir", "out"], "is the output of"),
        (["dev.conll", "--output-dir", "."], "is the same file as the input"),
        (["inner", "--output-dir", "inner"], "is the same file as the input"),
    ):
        refused(run("tag", "m.fc", *arguments, cwd=folder, check=1), problem)
