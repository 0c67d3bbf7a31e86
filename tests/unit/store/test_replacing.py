"""Everything that writes a file does so whole or not at all, through one function.

A link stays and its target is replaced, permissions stay, an error names the file, and a temporary file is
removed: by its writer, or by the next one if the writer was killed.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldcraft as fc
from fieldcraft import replacing as replacing_
from fieldcraft.compat import pycrfsuite
from fieldcraft.plots.figures import save_figure
from fieldcraft.replacing import replace_text, replacing
from fieldcraft.store.snapshots import write_snapshot
from fieldcraft.tuning.ledger import Ledger

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's locks and limits")
CRF = fc.ChainCRF(n_jobs=1).fit([[["a"], ["b"]]], [["N", "V"]])
CORPUS = fc.Corpus.from_columns({"word": [["Rome", "fell"] * 2000]})


class Canvas:
    """Draws as matplotlib does, more than fits into a buffer."""

    def savefig(self, file: Any, **_: Any) -> None:
        file.write(b"picture" * 10_000)


WRITERS: dict[str, Callable[[Path], None]] = {
    "save": CRF.save,
    "snapshot": lambda path: write_snapshot(path, "d", {"weights": np.zeros(10_000)}),
    "write": lambda path: fc.write(CORPUS, path, format="columns"),
    "to_html": lambda path: CRF.inspect().to_html(path) and None,
    "dump": lambda path: pycrfsuite.Tagger(CRF).dump(path),
    "ledger": lambda path: Ledger(path, "d").open({"over": "x" * 10_000}),
    "plot": lambda path: save_figure(Canvas(), path),
    "text": lambda path: replace_text(path, "é" * 10_000),
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


WRITING = re.compile(r"""open\([^)]*["'][wxa]b?\+?["']|\.write_text\(|\.write_bytes\(|os\.replace\(""")
# the function itself; lines that are appended to a file of results; the null device
ALLOWED = {"replacing.py", "tuning/ledger.py", "cli/streams.py"}


def test_nothing_else_writes_files() -> None:
    package = Path(replacing_.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if WRITING.search(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is empty, as a new file of results is, and that nobody else may read."""
    made = tmp_path / "file.png"
    made.touch()
    made.chmod(0o600)
    return made


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """No file may grow beyond so many bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@every_writer
def test_a_link_stays_and_so_do_permissions(write: Callable[[Path], None], path: Path) -> None:
    (path.parent / "away").mkdir()
    link = path.parent / "away" / "link.png"
    link.symlink_to("../file.png")
    again = path.parent / "again.png"
    again.symlink_to(link)
    write(again)
    assert (os.readlink(again), os.readlink(link)) == (str(link), "../file.png")
    assert path.stat().st_size > 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in path.parent.rglob("*")) == ["again.png", "away", "file.png", "link.png"]


@every_writer
def test_a_new_file_has_the_usual_permissions(write: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write(tmp_path / "new.png")
    usual, new = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "new.png"))
    assert new == usual


@every_writer
def test_a_link_to_nothing_leads_to_the_new_file(write: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to("new.png")
    write(tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "new.png").stat().st_size > 0


@linux
@every_writer
def test_a_full_disk_names_the_file_and_keeps_the_old_one(write: Callable[[Path], None], path: Path) -> None:
    inode = path.stat().st_ino
    with small_files(64), pytest.raises((OSError, fc.FieldcraftError)) as refused:
        write(path)
    assert str(path) in str(refused.value)
    assert "File too large" in str(refused.value)
    assert (path.stat().st_ino, path.stat().st_size) == (inode, 0)
    assert [p.name for p in path.parent.iterdir()] == ["file.png"]


@every_writer
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_at_the_end_leaves_the_old_file(
    write: Callable[[Path], None],
    error: type[BaseException],
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise error("broken")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(error, match="broken"):
        write(path)
    assert path.stat().st_size == 0
    assert [p.name for p in path.parent.iterdir()] == ["file.png"]


@every_writer
def test_a_folder_that_does_not_exist(write: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises((OSError, fc.FieldcraftError), match="does not exist; make it first") as refused:
        write(tmp_path / "gone" / "file.png")
    assert "file.png" in str(refused.value)


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"[Ss]ymbolic links") as refused:
        CRF.save(tmp_path / "a")
    assert refused.value.errno == errno.ELOOP
    assert (tmp_path / "a").is_symlink()


def test_devices_are_written_not_replaced(tmp_path: Path) -> None:
    replace_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        replace_text("/dev/full", "text")
    CRF.inspect().to_html("/dev/null")
    with pytest.raises(fc.FieldcraftError, match=r"/dev/full: cannot be written \(No space left"):
        fc.write(CORPUS, "/dev/full")
    assert list(tmp_path.iterdir()) == []


# ---- temporary files of others, dead and alive

WRITER = """
import sys, time
from fieldcraft.replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(600)
"""


def begin(path: Path) -> subprocess.Popen[str]:
    """A process in the midst of a write."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def part(path: Path, number: int = 0) -> Path:
    return path.with_name(f".{path.name}.fieldcraft-{number}.part")


@linux
@pytest.mark.alone
@pytest.mark.parametrize(
    "name", ["model.fc", "m" * 230 + ".fc", "é" * 110 + ".fc"], ids=["short", "long", "wide"]
)
def test_what_a_killed_writer_left_is_removed_by_the_next(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    kill(begin(path))
    (left,) = tmp_path.iterdir()
    assert left.read_bytes() == b"half"
    CRF.save(path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@linux
@pytest.mark.alone
def test_what_a_living_writer_has_begun_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.fc"
    first, second = begin(path), begin(path)
    assert part(path).exists()
    assert part(path, 1).exists()
    kill(first)
    CRF.save(path)
    assert {p.name for p in tmp_path.iterdir()} == {"model.fc", part(path, 1).name}
    kill(second)
    CRF.save(tmp_path / "other.fc")  # another file's are not its business
    assert part(path, 1).exists()
    CRF.save(path)
    assert {p.name for p in tmp_path.iterdir()} == {"model.fc", "other.fc"}


def test_two_writers_in_one_process(tmp_path: Path) -> None:
    """The one that ends last has the file."""
    path = tmp_path / "x"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_files_of_other_people_and_of_other_names_stay(tmp_path: Path) -> None:
    path = tmp_path / "model.fc"
    names = [
        ".model.fc.part",
        ".model.fc.fieldcraft-x.part",
        "model.fc.fieldcraft-0.part",
        ".model.fc.0a1b2c3d",
    ]
    for name in names:
        (tmp_path / name).touch()
    part(path, 1).symlink_to(".model.fc.part")
    part(path, 2).mkdir()
    kept = {*names, part(path, 1).name, part(path, 2).name, "model.fc"}
    if os.geteuid() == 0:
        part(path, 3).touch()
        os.chown(part(path, 3), 12345, 12345)
        kept.add(part(path, 3).name)
    CRF.save(path)
    assert {p.name for p in tmp_path.iterdir()} == kept


@linux
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving works; what may be somebody's stays."""
    path = tmp_path / "model.fc"
    part(path).touch()

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    CRF.save(path)
    assert {p.name for p in tmp_path.iterdir()} == {"model.fc", part(path).name}
    monkeypatch.undo()
    CRF.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.fc"]
