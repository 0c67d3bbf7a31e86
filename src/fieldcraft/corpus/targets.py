"""Writes text to a path (a temporary file is renamed, `.gz` is compressed), `-` or an open stream.

Hazard: a path that is not a regular file (a pipe, a terminal) is written directly, since renaming
would replace it.
"""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from fieldcraft.errors import CorpusError


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
        sys.stdout.flush()
        # a replaced standard output (a notebook's) may have no bytes beneath it
        yield getattr(sys.stdout, "buffer", sys.stdout)
        sys.stdout.flush()
    elif not isinstance(target, (str, os.PathLike)):
        yield target
    else:
        path = os.path.realpath(target)
        with _replacing(path) as file:
            if not path.lower().endswith(".gz"):
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
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A file that replaces `path` if all went well."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    aside = f"{path}.{secrets.token_hex(4)}.part"
    try:
        with open(aside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, aside)
        os.replace(aside, path)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
