"""Reading of files: whole corpora for training and scoring, batches for commands that stream.

A batch ends when it is large enough or when no input arrives for a moment, so that output appears before the
input ends, and memory does not grow with it.
Hazard: the pause is detected inside the reader (`Waiting.read`) while it reads the next sequence; all earlier
ones are in the batch by then.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fieldcraft.errors import CorpusError, EmptyCorpusError

if TYPE_CHECKING:
    from fieldcraft.corpus import Corpus, Sequence, Stream

BATCH_TOKENS = 20_000
SENTENCE = "sentence"  # the column that reading of documents adds
MOMENT = 0.02  # seconds without input after which a batch is closed


def read_corpora(files: list[str], arguments: dict[str, Any]) -> tuple[Corpus, dict[str, Any]]:
    """The sequences of all files as one corpus, and the arguments of `fc.read` for similar files."""
    from fieldcraft.corpus import Corpus, read

    parts, streams = [], []
    for name in files:
        streams.append(read(name, lazy=True, **arguments))
        parts.append(streams[-1].read())
        known = known_arguments(streams, files, arguments)
    whole = Corpus(
        [sequence for part in parts for sequence in part],
        label=tuple(known["label"]) if isinstance(known["label"], list) else known["label"],
        fields=parts[0].fields,
        source=", ".join(files),
    )
    return whole, known


def known_arguments(streams: list[Stream], files: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `fc.read` for files like these, whose first sequences were read."""
    first = streams[0]
    for name, stream in zip(files, streams):
        if stream.fields != first.fields:
            raise CorpusError(
                f"{name}: columns {', '.join(stream.fields)} where {files[0]} has "
                f"{', '.join(first.fields)}; files that are read together must have the same ones"
            )
    names = first.label_names
    label = names[0] if len(names) == 1 else [*names] or None
    known = {**arguments, "format": first.format, "label": label}
    if first.format == "columns":
        known["columns"] = [
            name for name in first.fields if not (known.get("documents") and name == SENTENCE)
        ]
    return known


def read_labelled(
    files: list[str], dev: list[str] | None, arguments: dict[str, Any], partial: dict[str, Any]
) -> tuple[Corpus, Corpus | None, dict[str, Any]]:
    """Training files, held-out files, and the arguments of `fc.read` for similar files.

    ``partial`` are the arguments for unknown labels in the training files; held-out labels are all known.
    """
    corpus, known = read_corpora(files, {"label": "auto", **arguments, **partial})
    source = {name: value for name, value in known.items() if name not in partial}
    return corpus, read_corpora(dev, source)[0] if dev else None, source


def read_batches(
    name: str, arguments: dict[str, Any], handle: Callable[[Stream, list[Sequence]], None]
) -> None:
    """Call ``handle`` with the sequences of a file, batch by batch; never for an empty file."""
    from fieldcraft.corpus import read

    batch = Batch(handle)
    batch.stream = read(waiting_input(name, batch.close), lazy=True, **arguments)
    try:
        for sequence in batch.stream:
            batch.add(sequence, len(sequence))
    except EmptyCorpusError:
        return
    batch.close()


class Batch:
    """Items that are handled together."""

    def __init__(self, handle: Callable[[Any, list[Any]], None]) -> None:
        self.handle = handle
        self.stream: Any = None
        self.items: list[Any] = []
        self.tokens = 0

    def add(self, item: Any, tokens: int) -> None:
        self.items.append(item)
        self.tokens += tokens
        if self.tokens >= BATCH_TOKENS:
            self.close()

    def close(self) -> None:
        """Handle the items so far."""
        items, self.items, self.tokens = self.items, [], 0
        if items:
            self.handle(self.stream, items)


class Waiting:
    """An input that calls a function before it waits; `read` returns the available bytes."""

    def __init__(self, descriptor: int, name: str, before_waiting: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self.name = name
        self.before_waiting = before_waiting

    def read(self, size: int) -> bytes:
        if not self._ready():
            self.before_waiting()
        return os.read(self.descriptor, size)

    def _ready(self) -> bool:
        try:
            return bool(select.select([self.descriptor], [], [], MOMENT)[0])
        except OSError:  # systems where select works for sockets only
            return False


def waiting_input(name: str, before_waiting: Callable[[], None]) -> Any:
    """An input for `fc.read`; pipes and terminals call ``before_waiting`` before they wait."""
    if name != "-":
        return _pipe(name, before_waiting) if _is_pipe(name) else name
    if sys.stdin is None:
        raise CorpusError("<stdin>: is closed; pass a file, or open standard input")
    try:
        return Waiting(sys.stdin.fileno(), "<stdin>", before_waiting)
    except (OSError, ValueError):  # a replaced standard input has no descriptor
        return "-"


def _is_pipe(name: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(name).st_mode) and not os.path.isdir(name)
    except OSError:
        return False


def _pipe(name: str, before_waiting: Callable[[], None]) -> Waiting:
    try:
        return Waiting(os.open(name, os.O_RDONLY), name, before_waiting)
    except OSError as error:
        raise CorpusError(f"{name}: cannot be opened ({error.strerror})") from error
