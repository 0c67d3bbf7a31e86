"""Lists of names, matched over the text.

An entry is one name of one or more words. Matching runs over a whole column: with
``match="longest"`` (the default) from left to right, each match as long as possible and none
overlapping; with ``match="all"`` every occurrence counts, and a token that several cover has the
tag of the longest.

In templates ``in(cities, word)`` is true at tokens inside a match, ``part(cities, word)`` is
the position of the token in it (B first, I inside, L last, U alone), and ``in(cities, word) & word``
is the lexicalised form.

    >>> cities = Gazetteer("cities", ["New York", "York"])
    >>> cities.find("from New York to York".split())
    [(1, 3), (4, 5)]
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import FieldcraftError, InputError
from fieldcraft.features.stored import as_stored

_ARRAYS: dict[str, type[np.generic]] = {
    "word_bytes": np.uint8,
    "word_starts": np.uint32,
    "word_slots": np.uint32,
    "words": np.int32,
    "starts": np.int64,
}
CASES = ("sensitive", "insensitive")
MATCHES = ("longest", "all")


class Gazetteer:
    """A named list of names.

    Parameters
    ----------
    name : what templates call it.
    entries : the names, or the path of a file with one a line (``.gz`` is read as such; empty lines
        are skipped).
    case : "sensitive", or "insensitive": entries and text are compared in lower case.
    match : "longest" or "all", see above.
    tokenise : how an entry is cut into words; must cut as the corpus was. Default: at white space.
    """

    def __init__(
        self,
        name: str,
        entries: Iterable[str] | str | os.PathLike[str],
        *,
        case: str = "sensitive",
        match: str = "longest",
        tokenise: Callable[[str], list[str]] = str.split,
    ) -> None:
        self.name = name
        self.entries = entries
        self.case = case
        self.match = match
        self.tokenise = tokenise

    @cached_property
    def table(self) -> Any:
        """The native table, built on first use."""
        from fieldcraft import _core

        self._check()
        return _core.GazetteerTable.build([" ".join(words) for words in self._rows()])

    def _check(self) -> None:
        for value, allowed, what in ((self.case, CASES, "case"), (self.match, MATCHES, "match")):
            if value not in allowed:
                raise FieldcraftError(
                    f"gazetteer {self.name!r}: {what} must be one of {', '.join(allowed)}, not {value!r}"
                )

    def fold(self, word: str) -> str:
        """The form of a word that is compared."""
        return word.lower() if self.case == "insensitive" else word

    def _rows(self) -> Iterator[list[str]]:
        for i, entry in enumerate(self._lines()):
            if not isinstance(entry, str):
                raise InputError(
                    f"gazetteer {self.name!r}, entry {i}: an entry must be text, "
                    f"not {type(entry).__name__}; convert it with str()"
                )
            yield self.tokenise(self.fold(entry))

    def _lines(self) -> Iterator[str]:
        if isinstance(self.entries, (str, os.PathLike)):
            with _open(Path(self.entries), self.name) as file:
                yield from file
        else:
            yield from self.entries

    def __len__(self) -> int:
        return len(self.table)

    def __getstate__(self) -> dict[str, Any]:
        """For copying and pickling: a table that was built is stored as arrays."""
        kept = dict(vars(self))
        if "table" in kept:
            kept["table"] = kept["table"].state()
            kept["entries"] = () if isinstance(self.entries, Iterator) else self.entries  # read already
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from fieldcraft import _core

        if "table" in kept:
            kept = {**kept, "table": _core.GazetteerTable.restore(*kept["table"])}
        vars(self).update(kept)

    def __repr__(self) -> str:
        return f"<Gazetteer {self.name!r}: {len(self)} entries>"

    def find(self, words: list[str]) -> list[tuple[int, int]]:
        """The matches as half-open ranges of tokens (of match="all": what the tags show)."""
        tags = self.table.tag([self.fold(w) for w in words], self.match == "all")
        spans, start = [], 0
        for t, tag in enumerate(tags):
            if tag in (0, 3):
                start = t
            if tag in (2, 3):
                spans.append((start, t + 1))
        return spans

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Settings, and the table as arrays."""
        settings = {"name": self.name, "case": self.case, "match": self.match}
        return settings, dict(zip(_ARRAYS, self.table.state()))

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Gazetteer:
        """The gazetteer from the output of ``state``; its entries are in the table only."""
        from fieldcraft import _core

        gazetteer = cls(settings["name"], (), case=settings["case"], match=settings["match"])
        gazetteer._check()
        tables = (as_stored(arrays, name, kind) for name, kind in _ARRAYS.items())
        gazetteer.__dict__["table"] = _core.GazetteerTable.restore(*tables)
        return gazetteer


def _open(path: Path, name: str) -> IO[str]:
    if not path.exists():
        raise FieldcraftError(f"gazetteer {name!r}: there is no file {os.fspath(path)!r}")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
