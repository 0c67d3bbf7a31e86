"""Standard output and standard error, also where they are closed or their reader has gone away."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, NoReturn

from fieldcraft.terminal import visible

READER_GONE = 141  # what a shell reports for a program that SIGPIPE stopped
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Closed(io.TextIOBase):
    """Stands for a standard output that is closed: writing is an error, writing nothing is not."""

    def write(self, text: object) -> NoReturn:
        del text
        raise OSError(errno.EBADF, "is closed; open standard output, or name a file to write to", "<stdout>")


class Silent(io.TextIOBase):
    """Stands for the standard streams of ranks other than rank 0, which prints for all of them."""

    def write(self, text: Any) -> int:
        return len(text)


def open_streams() -> None:
    """Replace closed standard streams, which are None in Python.

    Their descriptors are taken by the null device: otherwise the next file that is opened would get the
    number of standard output, and what anything prints would go into that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the smallest free number
    if sys.stdout is None:
        sys.stdout = Closed()
    if sys.stderr is None:  # else print(file=sys.stderr) would go to standard output
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def complain(problem: object) -> None:
    """Print an error in one line on standard error."""
    try:
        print(f"fieldcraft: {visible(str(problem))}", file=sys.stderr)
    except OSError:  # standard error is closed: there is no way to report it
        forget(sys.stderr)


def described(error: OSError) -> str:
    """An error of the system with the file that it is about."""
    name = error.filename
    if name is None and error.errno in FULL:  # other files are named by those who write them
        name = "<stdout>"
    return f"{'' if name is None else f'{name}: '}{error.strerror or error}"


def flushed(code: Any) -> Any:
    """Flush standard output before the program ends with an exit code; another code if that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget(sys.stdout)
        return code or READER_GONE
    except OSError as error:
        forget(sys.stdout)
        if not code:
            complain(described(error))
        return code or 1
    return code


def forget(stream: Any) -> None:
    """Redirect a stream to nothing, since Python flushes it once more at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)
