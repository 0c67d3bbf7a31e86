"""Commands on the ranks of an MPI job: who reads what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from fieldcraft.cli.reading import known_arguments, read_corpora, read_labelled
from fieldcraft.corpus import Corpus, read
from fieldcraft.corpus.ranges import FilePart, has_plain_lines, parts_of
from fieldcraft.distributed import Ranks, cuts_of, launched
from fieldcraft.errors import EmptyCorpusError, InputError


@contextmanager
def joined() -> Iterator[Ranks | None]:
    """The ranks that a launcher started, None without one; an error of any of them ends all."""
    if launched() is None:
        yield None
        return
    ranks = Ranks()
    with ranks.guarded():
        yield ranks


def agreed(ranks: Ranks | None) -> AbstractContextManager[None]:
    """Where an error of one rank is raised on all of them."""
    return nullcontext() if ranks is None else ranks.agreed()


def read_parts(
    ranks: Ranks | None,
    files: list[str],
    dev: list[str] | None,
    arguments: dict[str, Any],
    partial: dict[str, Any],
) -> tuple[Corpus, Corpus | None, dict[str, Any]]:
    """This rank's part of the training files, the held-out files, and the arguments of `fc.read`.

    Every rank reads its own bytes of column files. Packed files, other formats and standard input are read by
    rank 0, which sends the parts; so are held-out files, which all ranks get whole.
    """
    if ranks is None:
        return read_labelled(files, dev, arguments, partial)
    asked = {"label": "auto", **arguments, **partial}
    found = None
    with ranks.agreed():
        if ranks.rank == 0 and all(has_plain_lines(f, asked.get("encoding", "utf-8")) for f in files):
            found = _layout(files, asked)
    found = ranks.broadcast(found)
    corpus, known = _scattered(ranks, files, asked) if found is None else _ranges(ranks, files, found)
    source = {name: value for name, value in known.items() if name not in partial}
    held_out = None
    with ranks.agreed():
        if ranks.rank == 0 and dev:
            held_out = read_corpora(dev, source)[0]
    return corpus, ranks.broadcast(held_out), source


def read_whole(
    ranks: Ranks | None, files: list[str], dev: list[str] | None, arguments: dict[str, Any]
) -> tuple[Corpus, Corpus | None, dict[str, Any]]:
    """All of the training and held-out files on every rank; rank 0 reads them."""
    if ranks is None:
        return read_labelled(files, dev, arguments, {})
    read_ = None
    with ranks.agreed():
        if ranks.rank == 0:
            read_ = read_labelled(files, dev, arguments, {})
    corpus, held_out, source = ranks.broadcast(read_)
    return corpus, held_out, source


def check_ranks(ranks: Ranks | None, *, cooperative: bool, parallel: bool) -> None:
    """InputError for pools that are not trained on several ranks."""
    if ranks is not None and (parallel or not cooperative):
        raise InputError(
            "on several ranks pools are trained with --cooperative and without --parallel; start other pools "
            "without mpiexec"
        )


def _layout(files: list[str], arguments: dict[str, Any]) -> dict[str, Any] | None:
    """How the first sequences of column files are read; None if a file has another format."""
    streams = [read(name, lazy=True, **arguments) for name in files]
    for stream in streams:
        next(iter(stream))
    if any(stream.format != "columns" for stream in streams):
        return None
    known = known_arguments(streams, files, arguments)
    return {"known": known, "separators": [stream.separator for stream in streams]}


def _ranges(ranks: Ranks, files: list[str], found: dict[str, Any]) -> tuple[Corpus, dict[str, Any]]:
    """This rank's bytes of all files."""
    known, sequences = found["known"], []
    separator = dict(zip(files, found["separators"]))
    with ranks.agreed():
        for path, start, stop in parts_of(files, ranks.rank, ranks.size):
            with FilePart(path, start, stop) as part:
                try:
                    sequences += read(part, **{**known, "separator": separator[path]})
                except EmptyCorpusError:
                    continue
    fields, label = tuple(known["columns"]), known["label"]
    return Corpus(sequences, label=label, fields=fields, source=", ".join(files)), known


def _scattered(ranks: Ranks, files: list[str], arguments: dict[str, Any]) -> tuple[Corpus, dict[str, Any]]:
    """Rank 0 reads all files and sends each rank its part."""
    parts, known = None, None
    with ranks.agreed():
        if ranks.rank == 0:
            whole, known = read_corpora(files, arguments)
            cuts = cuts_of([len(sequence) for sequence in whole], ranks.size)
            parts = [whole[a:b] for a, b in zip(cuts, cuts[1:])]
    return ranks.scatter(parts), ranks.broadcast(known)
