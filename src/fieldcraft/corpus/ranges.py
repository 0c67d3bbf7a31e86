"""Column files in parts: byte ranges that begin and end between sequences.

A cut at a byte moves on to the end of the next blank line. Where it ends up depends on the file and the byte
alone, so that several processes cut a file in the same places without talking to one another.
Hazard: a blank line must be recognisable in the bytes; encodings in which other characters contain the byte
of a line's end are not for this (``has_plain_lines``).
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from fieldcraft.corpus.sources import GZIP_MAGIC
from fieldcraft.errors import CorpusError

_PLAIN = re.compile(r"utf-8(-sig)?|ascii|iso8859-\d+|cp125\d|koi8-[ru]")


class FilePart(io.RawIOBase):
    """The bytes ``start .. stop - 1`` of a file, as a stream that `fc.read` takes."""

    def __init__(self, path: str, start: int, stop: int) -> None:
        self.name, self._start, self._left = path, start, stop - start
        self._file = open(path, "rb")  # noqa: SIM115
        self._file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

    @cached_property
    def lines_before(self) -> int:
        """Lines of the file before this part, for messages."""
        with open(self.name, "rb") as file:
            pieces = iter(lambda: file.read(min(1 << 20, max(self._start - file.tell(), 0))), b"")
            return sum(piece.count(b"\n") for piece in pieces)

    def close(self) -> None:
        self._file.close()
        super().close()


def boundary(path: str, position: int) -> int:
    """The first byte behind a blank line that ends at or after ``position``; 0 and the size stay."""
    size = os.path.getsize(path)
    if not 0 < position < size:
        return min(max(position, 0), size)
    with open(path, "rb") as file:
        file.seek(position - 1)
        file.readline()  # the line that the cut falls into
        for line in iter(file.readline, b""):
            if not line.strip(b" \t\r\n"):
                return file.tell()
    return size


def parts_of(paths: list[str], part: int, n: int) -> Iterator[tuple[str, int, int]]:
    """The ranges (path, start, stop) of one of n parts of files that stand one after another."""
    sizes = [os.path.getsize(path) for path in paths]
    first, last = (sum(sizes) * k // n for k in (part, part + 1))
    before = 0
    for path, size in zip(paths, sizes):
        start, stop = boundary(path, first - before), boundary(path, last - before)
        if start < stop:
            yield path, start, stop
        before += size


def has_plain_lines(path: str, encoding: str) -> bool:
    """Whether a file is a regular one, not packed, in an encoding whose lines end in the byte 10."""
    if path == "-":
        return False
    try:
        known = _PLAIN.fullmatch(codecs.lookup(encoding).name)
        if not known or not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(2) not in (GZIP_MAGIC, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    except (LookupError, ValueError):
        return False
    except OSError as error:
        raise CorpusError(f"{path}: cannot be opened ({error.strerror or error})") from error
