"""Saving goes wrong in every way it can: the name holds the old file or the new one, whole, whatever happens.

A process that is killed while it saves leaves a temporary file behind (``.model.fc.…``), which the next save
removes; every other failure removes it at once.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fieldcraft as fc
from fieldcraft.errors import ModelFileError

HERE = Path(__file__).with_name("faults.py")
X, Y = [[["a"], ["b"]]], [["N", "V"]]

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and Linux signals")


def run(job: str, folder: Path) -> Any:
    done = subprocess.run([sys.executable, HERE, job, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fitted() -> fc.ChainCRF:
    return fc.ChainCRF(n_jobs=1).fit(X, Y)


def saved(folder: Path) -> tuple[fc.ChainCRF, Path, bytes]:
    """A model, a file with another, and its content."""
    path = folder / "model.fc"
    fc.ChainCRF(n_jobs=1).fit(X, [["old", "old"]]).save(path)
    return fitted(), path, path.read_bytes()


def untouched(path: Path, content: bytes) -> None:
    assert path.read_bytes() == content
    assert fc.load(path).predict(X).tolist() == [["old", "old"]]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@linux
def test_no_room(tmp_path: Path) -> None:
    answer = run("starve", tmp_path)
    assert answer == {"errno": errno.EFBIG, "same": True, "names": ["a.fc", "b.fc", "model.fc"]}


@linux
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system of 16 kB cannot be mounted here")
    try:
        crf, path, content = saved(disk)
        (disk / "full").write_bytes(b"x" * (16384 - 4096 * -(-len(content) // 4096)))
        with pytest.raises(OSError, match="No space left"):
            crf.save(path)
        (disk / "full").unlink()
        untouched(path, content)
        crf.save(path)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_an_error_in_the_midst(
    step: str, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crf, path, content = saved(tmp_path)

    def fail(*_: Any) -> None:
        raise error("broken")

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(error, match="broken"):
            crf.save(path)
    untouched(path, content)


def test_the_folder_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    crf, path, _ = saved(tmp_path / "sub")
    monkeypatch.setattr("os.fsync", lambda _: shutil.rmtree(tmp_path / "sub"))
    with pytest.raises(FileNotFoundError):
        crf.save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be made, not even by the superuser."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    saved(folder)
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    if (
        shutil.which("chattr")
        and not subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode
    ):
        yield folder
        subprocess.run(["chattr", "-i", folder], check=True)
        return
    bound = [["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]]
    if any(subprocess.run(command, capture_output=True, check=False).returncode for command in bound):
        pytest.skip("no folder can be made read-only here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@linux
def test_a_folder_that_is_read_only(sealed: Path) -> None:
    content = (sealed / "model.fc").read_bytes()
    with pytest.raises(OSError, match="not permitted|denied|Read-only"):
        fitted().save(sealed / "model.fc")
    untouched(sealed / "model.fc", content)


def test_a_folder_has_the_name(tmp_path: Path) -> None:
    (tmp_path / "model.fc").mkdir()
    with pytest.raises(ModelFileError, match=r"model\.fc is a folder or a device; choose the name of a file"):
        fitted().save(tmp_path / "model.fc")
    assert [p.name for p in tmp_path.iterdir()] == ["model.fc"]


@linux
def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    """As /dev/null would be, which the superuser may replace."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match="is a folder or a device"):
        fitted().save(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(ModelFileError, match="it is not a regular file"):
        fc.load(pipe)
    with pytest.raises(ModelFileError, match="is a folder or a device"):
        fitted().save("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("m" * 252 + ".fc")
    fitted().save(path)
    fc.load(path)


@linux
@pytest.mark.slow
@pytest.mark.alone
def test_killed_while_saving(tmp_path: Path) -> None:
    """120 kills spread over the save: old or new, never half of one; both are met."""
    answer = run("kill_savers", tmp_path)
    assert sum(answer["found"].values()) == 120
    assert min(answer["found"].values()) > 0
    assert answer["strays"] == [".model.fc.fieldcraft-0.part"]  # never more than the last one
    assert answer["left"] == []


@linux
@pytest.mark.slow
@pytest.mark.alone
def test_writers_of_one_file_that_are_killed(tmp_path: Path) -> None:
    """The file is whole after each kill, and in the end no temporary file is left."""
    answer = run("kill_rivals", tmp_path)
    assert answer["most"] > 1  # they were met at work
    assert answer["left"] == ["file"]


@linux
@pytest.mark.slow
@pytest.mark.alone
def test_killed_while_training(tmp_path: Path) -> None:
    """A snapshot is written each iteration; the weights have the bits of a training left alone."""
    assert run("kill_trainers", tmp_path)["kills"] >= 10


class Holder:
    """A process that has the model of a folder mapped."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, HERE, "hold", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def __call__(self, question: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Path, Holder, Holder]]:
    """Two processes that hold one file."""
    names = [f"{mark}Dogs{k}" for mark in "ab" for k in range(20000)]
    crf = fc.ChainCRF(optimiser=fc.LBFGS(max_iterations=3), n_jobs=1)
    crf.fit([[names[:20000], names[20000:]]], [["A", "B"]]).save(tmp_path / "model.fc")
    holders = Holder(tmp_path), Holder(tmp_path)
    yield tmp_path / "model.fc", *holders
    for holder in holders:
        holder.end()


@linux
@pytest.mark.alone
def test_two_processes_share_the_pages(held: tuple[Path, Holder, Holder]) -> None:
    path, first, second = held
    second("pages")
    pages = first("pages")
    assert pages["Rss"] > 0.5 * path.stat().st_size / 1024
    assert pages["Shared_Clean"] > 0.9 * pages["Rss"]
    assert pages["Private_Dirty"] == pages["Shared_Dirty"] == 0


@linux
def test_a_model_replaced_while_it_is_held(held: tuple[Path, Holder, Holder]) -> None:
    """Who holds the old one goes on answering from it; who loads now gets the new one."""
    path, first, second = held
    before = first("ask")
    assert before == [["A", "B"]]
    fc.ChainCRF(n_jobs=1).fit([[["aDogs0"], ["bDogs0"]]], [["new", "newer"]]).save(path)
    assert fc.load(path).predict([[["aDogs0"], ["bDogs0"]]]).tolist() == [["new", "newer"]]
    assert first("ask") == second("ask") == before
    path.unlink()
    assert first("ask") == second("ask") == before
