"""Column files in, attribute strings out.

A *pattern* is a tuple of (offset, column); pattern number k yields one attribute per token, the
text ``k=`` and its columns' strings joined by ``/``. Outside the sequence a column reads ``_B-1``,
``_B+1`` and so on by distance.

Hazard: nothing but the standard library is imported here, since memory is measured around it.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

Token = tuple[str, ...]
Pattern = tuple[tuple[int, int], ...]
ROOT = Path(__file__).resolve().parent.parent
_RUN = re.compile(r"(.)\1+")


def data_folder() -> Path:
    """FIELDCRAFT_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("FIELDCRAFT_DATA", ROOT.parent / "shared" / "data"))


def _text(path: Path) -> str:
    """The file, or the one beside it that is packed."""
    packed = not path.exists()
    raw = path.with_name(path.name + ".gz") if packed else path
    return (gzip.decompress(raw.read_bytes()) if packed else raw.read_bytes()).decode("utf-8")


def read_rows(path: Path) -> Iterator[list[list[str]]]:
    """The fields of each token, sequence by sequence; document marks are left out."""
    rows: list[list[str]] = []
    for fields in map(str.split, [*_text(path).split("\n"), ""]):
        if fields and fields[0] != "-DOCSTART-":
            rows.append(fields)
        elif not fields and rows:
            yield rows
            rows = []


def read_conllu(path: Path) -> Iterator[list[list[str]]]:
    """The fields of each word of a CoNLL-U file without its number: form, lemma, UPOS and so on.

    Comments, multiword tokens (``3-4``) and empty nodes (``3.1``) are left out.
    """
    for block in _text(path).split("\n\n"):
        fields = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        if rows := [row[1:] for row in fields if row[0].isdigit()]:
            yield rows


def iob2(tags: Sequence[str]) -> list[str]:
    """Every entity begins with B."""
    opens = [t[0] == "I" and b[2:] != t[2:] for b, t in zip(["O", *tags], tags)]
    return ["B" + tag[1:] if new else tag for tag, new in zip(tags, opens)]


def attributes(sequence: Sequence[Token], patterns: Sequence[Pattern]) -> list[list[str]]:
    """Pattern k at each token: ``k=`` and the strings it looks at."""
    n = len(sequence)

    def at(i: int, column: int) -> str:
        if 0 <= i < n:
            return sequence[i][column]
        return f"_B{i}" if i < 0 else f"_B+{i - n + 1}"

    return [
        [
            f"{k}=" + "/".join([at(t + offset, column) for offset, column in pattern])
            for k, pattern in enumerate(patterns)
        ]
        for t in range(n)
    ]


def shape(word: str) -> str:
    """X upper, x lower, d digit, others themselves; runs of a symbol keep two of it."""
    marks = "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return _RUN.sub(r"\1\1", marks)


@cache
def spelling(word: str) -> Token:
    """Lower case, shape, the first 1 .. 4 characters, the last 1 .. 4."""
    ends = [word[:n] for n in range(1, 5)] + [word[-n:] for n in range(1, 5)]
    return (word.lower(), shape(word), *ends)


def spelled(token: Token) -> Token:
    """The token's columns and the spelling of its word."""
    return (*token, *spelling(token[0]))


def windows(column: int, *groups: Sequence[int]) -> tuple[Pattern, ...]:
    """One pattern per group of offsets."""
    return tuple(tuple((offset, column) for offset in group) for group in groups)


def singles(column: int, low: int = 0, high: int = 0) -> tuple[Pattern, ...]:
    """One pattern per offset."""
    return windows(column, *[(offset,) for offset in range(low, high + 1)])
