"""Writes text to a path (a file appears whole or not at all, `.gz` is compressed), `-` or an open stream."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from fieldcraft.errors import CorpusError
from fieldcraft.replacing import replacing


def target_name(target: Any) -> str:
    """The name of the target in messages."""
    if target == "-":
        return "<stdout>"
    if isinstance(target, (str, os.PathLike)):
        return os.fspath(target)
    return str(getattr(target, "name", "<stream>"))


def write_text(target: Any, texts: Iterable[str], encoding: str) -> None:
    """Write pieces of text; a path has either all of them or its old content."""
    with opened(target) as stream:
        _write_stream(stream, texts, encoding)


@contextmanager
def opened(target: Any) -> Iterator[Any]:
    """The stream behind a target; a path is replaced only if all went well."""
    if target == "-":
        if sys.stdout is None:
            raise CorpusError("<stdout>: is closed; name a file to write to, or open standard output")
        sys.stdout.flush()
        # a replaced standard output (a notebook's) may have no bytes beneath it
        yield getattr(sys.stdout, "buffer", sys.stdout)
        sys.stdout.flush()
    elif not isinstance(target, (str, os.PathLike)):
        yield target
    else:
        with _replacing(target) as file:
            if not os.path.realpath(target).lower().endswith(".gz"):
                yield file
                return
            # no time stamp: equal corpora make equal files
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                yield packed


def _write_stream(stream: Any, texts: Iterable[str], encoding: str) -> None:
    """To an open stream, text or binary; an empty write detects which."""
    try:
        stream.write("")
    except TypeError:
        for text in texts:
            stream.write(_encoded(text, encoding))
        return
    for text in texts:
        stream.write(text)


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        given = error.object[error.start]
        raise CorpusError(
            f"character {given!r} does not exist in {encoding}; pass encoding='utf-8' or replace it"
        ) from None


@contextmanager
def _replacing(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that replaces `target` if all went well; CorpusError if it cannot be written."""
    try:
        with replacing(target) as file:
            yield file
    except BrokenPipeError:  # the reader of a named pipe went away, which is not an error of the corpus
        raise
    except OSError as error:
        raise CorpusError(f"{os.fspath(target)}: cannot be written ({error.strerror or error})") from error
