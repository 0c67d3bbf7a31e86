"""The workloads: data, columns, attributes as strings, the same attributes as templates.

W1  CoNLL-2000 chunks; words and tags in a window of five, 19 attributes a token, 22 labels
W2  CoNLL-2003 entities as IOB2; words, tags, chunks, shapes and affixes, 31 attributes, 9 labels
W3  CoNLL-2000 tags as labels; words, shape and affixes, 17 attributes, 44 labels
W4  BC2GM gene mentions; attributes as W3, 3 labels
W5  English Web Treebank, universal parts of speech; attributes as W3, 17 labels
W6  WNUT-17 emerging entities; attributes as W3, 13 labels

``templates`` says in fieldcraft's language over the raw columns what ``patterns`` say over the
derived ones, so both sides see equal attributes up to their names.

Hazard: nothing but the standard library is imported here, since memory is measured around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.columns import (
    Pattern,
    Token,
    attributes,
    data_folder,
    iob2,
    read_conllu,
    read_rows,
    singles,
    spelled,
    windows,
)

Features = list[list[list[str]]]
Labels = list[list[str]]
Columns = list[dict[str, list[str]]]

_CHUNKS = {"train": "conll2000/train.txt", "test": "conll2000/test.txt"}
_ENTITIES = {
    "train": "conll2003/eng.train",
    "dev": "conll2003/eng.testa",
    "test": "conll2003/eng.testb",
}
_GENES = {"train": "bc2gm/train.tsv", "dev": "bc2gm/devel.tsv", "test": "bc2gm/test.tsv"}
_TREEBANK = {split: f"ud_en_ewt/en_ewt-ud-{split}.conllu" for split in ("train", "dev", "test")}
_EMERGING = {
    "train": "wnut17/wnut17train.conll",
    "dev": "wnut17/emerging.dev.conll",
    "test": "wnut17/emerging.test.annotated",
}
_WORDS = singles(0, -2, 2) + windows(0, (-1, 0), (0, 1))
_WORD_LINES = "word[-2..2]\nword[-1] & word\nword & word[1]\n"
_AFFIX_LINES = "prefix(word, 1..4)\nsuffix(word, 1..4)\nedge\n"


def _spelling_patterns(first: int) -> tuple[Pattern, ...]:
    """The eight affixes, which follow lower case and shape at column ``first``."""
    return tuple(p for column in range(first + 2, first + 10) for p in singles(column))


class Workload(NamedTuple):
    """One task: ``raw`` columns lead each row of ``files``, ``label`` is the field to predict."""

    name: str
    title: str
    files: dict[str, str]
    raw: tuple[str, ...]
    label: int
    patterns: tuple[Pattern, ...]
    templates: str
    derive: Callable[[Token], Token] | None = None
    spans: bool = True
    rows: Callable[[Path], Iterator[list[list[str]]]] = read_rows

    def load(self, split: str) -> tuple[list[list[Token]], Labels]:
        """The raw columns as tuples in the order of ``raw``, and the labels."""
        rows = list(self.rows(data_folder() / self.files[split]))
        width = len(self.raw)
        columns = [[tuple(row[:width]) for row in sequence] for sequence in rows]
        labels = [[row[self.label] for row in sequence] for sequence in rows]
        return columns, [iob2(tags) for tags in labels] if self.spans else labels

    def by_column(self, split: str) -> tuple[Columns, Labels]:
        """The raw columns of each sequence by their names, and the labels."""
        sequences, labels = self.load(split)
        return [dict(zip(self.raw, map(list, zip(*tokens)))) for tokens in sequences], labels

    def derived(self, columns: list[list[Token]]) -> list[list[Token]]:
        """The raw columns followed by those computed from them, as the patterns number them."""
        if self.derive is None:
            return columns
        return [[self.derive(token) for token in sequence] for sequence in columns]

    def attributes(self, sequence: Sequence[Token]) -> list[list[str]]:
        """The attribute strings of each token of one sequence of derived columns."""
        return attributes(sequence, self.patterns)

    def features(self, split: str) -> tuple[Features, Labels]:
        """Attribute strings and labels of a split."""
        columns, labels = self.load(split)
        return [self.attributes(sequence) for sequence in self.derived(columns)], labels


W1 = Workload(
    "W1",
    "CoNLL-2000 chunks, 22 labels",
    _CHUNKS,
    ("word", "pos"),
    2,
    _WORDS
    + singles(1, -2, 2)
    + windows(1, (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)),
    "columns word pos\n"
    + _WORD_LINES
    + "pos[-2..2]\npos[-2] & pos[-1]\npos[-1] & pos\npos & pos[1]\npos[1] & pos[2]\n"
    + "pos[-2] & pos[-1] & pos\npos[-1] & pos & pos[1]\npos & pos[1] & pos[2]\nedge\n",
)
W2 = Workload(
    "W2",
    "CoNLL-2003 entities, 9 labels",
    _ENTITIES,
    ("word", "pos", "chunk"),
    3,
    _WORDS
    + singles(1, -2, 2)
    + windows(1, (-1, 0), (0, 1))
    + singles(2, -1, 1)
    + singles(3)
    + singles(4, -1, 1)
    + windows(4, (-1, 0), (0, 1))
    + _spelling_patterns(3),
    "columns word pos chunk\n"
    + _WORD_LINES
    + "pos[-2..2]\npos[-1] & pos\npos & pos[1]\nchunk[-1..1]\nlower(word)\nshape(word[-1..1])\n"
    + "shape(word[-1]) & shape(word)\nshape(word) & shape(word[1])\n"
    + _AFFIX_LINES,
    spelled,
)


def _spelled_words(name: str, title: str, files: dict[str, str], label: int, **settings: Any) -> Workload:
    """Words in a window of five; lower case, shape and affixes of the one in the middle."""
    patterns = _WORDS + singles(1) + singles(2) + _spelling_patterns(1)
    templates = "columns word\n" + _WORD_LINES + "lower(word)\nshape(word)\n" + _AFFIX_LINES
    return Workload(name, title, files, ("word",), label, patterns, templates, spelled, **settings)


W3 = _spelled_words("W3", "CoNLL-2000 part of speech, 44 labels", _CHUNKS, 1, spans=False)
W4 = _spelled_words("W4", "BC2GM genes, 3 labels", _GENES, 1)
W5 = _spelled_words("W5", "EWT part of speech, 17 labels", _TREEBANK, 2, spans=False, rows=read_conllu)
W6 = _spelled_words("W6", "WNUT-17 entities, 13 labels", _EMERGING, 1)
WORKLOADS: dict[str, Workload] = {w.name: w for w in (W1, W2, W3, W4, W5, W6)}
