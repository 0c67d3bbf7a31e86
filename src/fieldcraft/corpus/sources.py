"""Reads lines from a path, `-` (standard input) or an open stream; gzip is decompressed.

    bytes -> (gunzip) -> incremental decoding -> batches of lines -> a format's reader

Layout: `Source.batches()` yields lists of lines without their ends; a batch is about 256 KB of
text, so memory stays constant. Lines end in LF or CRLF and in nothing else (`str.splitlines` would
also break at U+0085 or U+2028, which occur inside tokens); a byte-order mark is dropped, and that of UTF-16
replaces utf-8 as the encoding.
Hazards: standard input and open streams can be read once only. They are left open, paths are
closed. Undecodable bytes are reported with their line although decoding runs ahead of reading.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fieldcraft.errors import CorpusError

_CHUNK = 1 << 18
_LONGEST = 1 << 24  # characters of a line: a compressed megabyte may contain a line of a gigabyte
GZIP_MAGIC = b"\x1f\x8b"


class Source:
    """Something to read lines from, with its name in messages."""

    def __init__(self, origin: Any, encoding: str) -> None:
        self._origin = origin
        self._encoding = encoding
        self._spent = False

    @property
    def name(self) -> str:
        if self._origin == "-":
            return "<stdin>"
        if isinstance(self._origin, (str, os.PathLike)):
            return os.fspath(self._origin)
        return str(getattr(self._origin, "name", "<stream>"))

    @property
    def is_path(self) -> bool:
        return self._origin != "-" and isinstance(self._origin, (str, os.PathLike))

    def batches(self) -> Iterator[list[str]]:
        """Lists of lines; the source is opened when iteration starts."""
        with self._stream() as stream:
            yield from _lines(self._texts(stream), self.name)

    def error(self, line: int, problem: str) -> CorpusError:
        line += getattr(self._origin, "lines_before", 0)  # a part of a file
        return CorpusError(f"{self.name}:{line}: {problem}")

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        if self.is_path:
            with _open(self._origin) as file:
                yield _unzipped(file)
            return
        if self._spent:
            raise CorpusError(
                f"{self.name} was read already and cannot be read again; "
                "give a path, or read it whole with lazy=False"
            )
        if self._origin == "-" and sys.stdin is None:
            raise CorpusError("<stdin>: is closed; pass a file, or open standard input")
        self._spent = True
        # a replaced standard input may have no binary buffer
        stream = getattr(sys.stdin, "buffer", sys.stdin) if self._origin == "-" else self._origin
        yield stream if isinstance(stream, io.TextIOBase) else _unzipped(stream)

    def _texts(self, stream: Any) -> Iterator[str]:
        """Decoded chunks; the chunks of a text stream are not decoded again."""
        decoder = self._decoder()
        utf8 = decoder.__class__.__module__ == "encodings.utf_8_sig"
        lines_before = 0
        for index, chunk in enumerate(self._chunks(stream)):
            if isinstance(chunk, str):
                yield chunk if index else chunk.removeprefix("\ufeff")
                continue
            if index == 0 and utf8 and chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                decoder = codecs.getincrementaldecoder("utf-16")()
            elif index == 0 and utf8 and 0 in chunk[:2]:
                raise self._utf16(chunk)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise self._undecodable(error, lines_before) from None
            lines_before += text.count("\n")
            yield text

    def _chunks(self, stream: Any) -> Iterator[bytes | str]:
        """Chunks of the stream, an empty one last."""
        # read1 returns what a pipe contains now: early lines are read before late ones are written
        read = getattr(stream, "read1", stream.read)
        try:
            while chunk := read(_CHUNK):
                yield chunk
        except (OSError, EOFError, zlib.error) as error:
            raise CorpusError(f"{self.name}: cannot be read to its end ({error})") from None
        yield chunk

    def _decoder(self) -> codecs.IncrementalDecoder:
        try:
            name = codecs.lookup(self._encoding).name
        except LookupError:
            raise CorpusError(
                f"encoding {self._encoding!r} is unknown; use a name such as utf-8 or latin-1"
            ) from None
        # utf-8-sig is utf-8 that forgives a byte-order mark
        return codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()

    def _undecodable(self, error: UnicodeDecodeError, lines_before: int) -> CorpusError:
        read = error.object[: error.start].decode(error.encoding, errors="ignore")
        line = lines_before + read.count("\n") + 1
        given = error.object[error.start : error.start + 1].hex()
        return self.error(
            line,
            f"byte 0x{given} is not {self._encoding} text; pass encoding='latin-1', or what it is",
        )

    def _utf16(self, chunk: bytes) -> CorpusError:
        name = "utf-16-le" if chunk[0] else "utf-16-be"
        return self.error(1, f"the text looks like UTF-16 without a byte-order mark; pass encoding='{name}'")


def _open(path: str | os.PathLike[str]) -> io.BufferedReader:
    try:
        return open(path, "rb")
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(f"{os.fspath(path)}: cannot be opened ({reason})") from error


def _unzipped(stream: Any) -> Any:
    """The stream, decompressed if its first bytes are gzip's."""
    if not hasattr(stream, "peek"):
        stream = io.BufferedReader(_Raw(stream))
    if stream.peek(2)[:2] != GZIP_MAGIC:
        return stream
    return gzip.GzipFile(fileobj=stream, mode="rb")


class _Raw(io.RawIOBase):
    """Adapts any object with `read` to the raw interface that buffering needs; never closes it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        if isinstance(data, str):
            raise CorpusError("a stream gave text where bytes were expected; open it in mode 'rb'")
        buffer[: len(data)] = data
        return len(data)


def _lines(texts: Iterable[str], name: str) -> Iterator[list[str]]:
    """Cut chunks of text into lines; a line may run over several chunks."""
    parts: list[str] = []  # the unfinished last line
    for text in texts:
        if "\n" not in text:
            parts.append(text)
            if len(parts) * _CHUNK > _LONGEST and sum(map(len, parts)) > _LONGEST:
                raise CorpusError(f"{name}: a line of more than {_LONGEST} characters; is it a text file?")
            continue
        whole = "".join([*parts, text])
        lines = (whole.replace("\r\n", "\n") if "\r" in whole else whole).split("\n")
        parts = [lines.pop()]
        yield lines
    if last := "".join(parts):
        yield [last]


def is_source(value: object) -> bool:
    """Whether `value` is something that lines can be read from."""
    return isinstance(value, (str, os.PathLike)) or callable(getattr(value, "read", None))


def extension(name: str) -> str:
    """`corpus.conllu.gz` -> `conllu`."""
    stem = name[:-3] if name.lower().endswith(".gz") else name
    return os.path.splitext(stem)[1][1:].lower()
