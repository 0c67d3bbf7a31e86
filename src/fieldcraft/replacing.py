"""Writes a file whole or not at all: under a temporary name in the same folder, synced and renamed.

A reader sees the old file or the new one, never a part of one. A link stays a link, and the file that it
points to is replaced, with the permissions that it had. A path that is not a regular file (a pipe, a
terminal) is written directly, since renaming would replace it.

A temporary file is called ``.NAME.fieldcraft-0.part``, with the next number if another writer has that one.
Its writer holds a lock on it (flock), which the system releases when the process ends, however it ends. The
next write to the same path removes files of this name whose lock is free and that belong to the same user.
Where there is no flock (Windows) an open file cannot be removed, which serves the same purpose.

Hazard: a file has no lock in the moment between its creation and its locking. A writer therefore checks, once
it has the lock, that its file still has its name, and begins again if not; it renames or removes the file
while it holds the lock.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

Path = str | os.PathLike[str]
SLOTS = 16  # temporary names that are searched for abandoned files
LONGEST = 200  # bytes of a name that appear in the temporary name; file systems allow 255


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to; it replaces the one at ``path`` if the block ends without an error.

    An error of the system (a full disk, a folder that does not exist) is an OSError that names ``path``.
    """
    given = os.fsdecode(path)
    target = os.path.realpath(given)
    with _naming(given, target), _special(target) if is_special(target) else _replaced(target) as file:
        yield file


def replace_text(path: Path, text: str) -> None:
    """Replace the content of a file by a text in UTF-8."""
    data = text.encode()
    with replacing(path) as file:
        file.write(data)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system that name no file name ``path``."""
    with _naming(os.fsdecode(path), os.fsdecode(path)):
        yield


def is_special(path: Path) -> bool:
    """Whether something is there that is not a regular file: a folder, a pipe, a device."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_folder(path: Path) -> None:
    """Raise a FileNotFoundError if the folder of a file that is to be written does not exist."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            errno.ENOENT, f"the folder {folder} does not exist; make it first", os.fsdecode(path)
        )


@contextmanager
def _naming(given: str, target: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        own = error.filename in (None, target) or str(error.filename).startswith(_temporary(target))
        if error.errno is None or not own:
            raise
        raise OSError(error.errno, error.strerror, given) from error


@contextmanager
def _special(target: str) -> Iterator[BinaryIO]:
    with open(target, "wb") as file:
        yield file


@contextmanager
def _replaced(target: str) -> Iterator[BinaryIO]:
    check_folder(target)
    if os.path.islink(target):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), target)
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    name, handle = _begin(target, 0o666 if mode is None else 0o600)
    with open(handle, "wb") as file:
        try:
            if mode is not None:
                with suppress(OSError):  # a file system without permissions
                    os.chmod(name, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()  # an open file cannot be renamed there
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    _sync_folder(os.path.dirname(target))


def _begin(target: str, mode: int) -> tuple[str, int]:
    """The name and the descriptor of a new temporary file, locked; abandoned ones are removed before."""
    for number in range(SLOTS):
        _remove_if_abandoned(f"{_temporary(target)}{number}.part")
    for number in count():
        name = f"{_temporary(target)}{number}.part"
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except FileExistsError:  # of another writer
            continue
        if _locked(handle, otherwise=True) and _has_name(handle, name):
            return name, handle
        os.close(handle)
    raise AssertionError("unreachable")


def _temporary(target: str) -> str:
    """The path of a temporary file without its number."""
    folder, name = os.path.split(target)
    encoded = os.fsencode(name)
    if len(encoded) > LONGEST:
        name = f"{name[:40]}~{zlib.crc32(encoded):08x}"
    return os.path.join(folder, f".{name}.fieldcraft-")


def _remove_if_abandoned(name: str) -> None:
    """Remove a temporary file of this user whose writer has ended."""
    if sys.platform == "win32":
        with suppress(OSError):
            os.unlink(name)
        return
    try:
        handle = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # most often: there is none
        return
    try:
        about = os.fstat(handle)
        mine = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
        if mine and _locked(handle, otherwise=False) and _has_name(handle, name):
            with suppress(OSError):
                os.unlink(name)
    finally:
        os.close(handle)


def _locked(handle: int, *, otherwise: bool) -> bool:
    """Lock a file; False if another process has it, ``otherwise`` where files cannot be locked."""
    if sys.platform == "win32":
        return otherwise
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return otherwise
    return True


def _has_name(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(name))
    except FileNotFoundError:
        return False


def _sync_folder(folder: str) -> None:
    """Syncs a folder, so that a new name survives a power cut; ignored where folders cannot be synced."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
