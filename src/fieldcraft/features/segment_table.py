"""Attributes of whole segments: for every candidate segment, those that the training segments have.

A candidate is a cell: row ``t * longest + d - 1`` is the segment of d tokens that ends with token t. Texts
are looked up in a tree of words that grows with the segments of the training data alone, so that a candidate
costs a step only as long as it begins like one of them.

Layout: attribute a belongs to template ``template[a]`` and has the text ``keys[a]``; ``encode`` returns the
arrays of ``Encoded`` with cells in the place of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.functions import missing_function
from fieldcraft.features.segment_templates import FORMS, WORDS, SegmentTemplate, length_key
from fieldcraft.features.similarity import Nearest

Ints = NDArray[np.int64]
Function = Callable[[Any, int, int], Iterable[str]]


class Text(NamedTuple):
    """What templates look at: the sequences, their columns by name [tokens], and where they begin."""

    sequences: Sequence[Any]
    columns: dict[str, list[str]]
    offsets: Ints


class SegmentTable:
    """Attributes of whole segments.

    Parameters
    ----------
    templates : templates of whole segments
    longest : most tokens of a candidate
    nearest : for each ``near`` template, by its name
    function : (sequence, start, end) -> attributes, for templates of kind "function"
    """

    def __init__(
        self,
        templates: Sequence[SegmentTemplate],
        longest: int,
        nearest: dict[str, Nearest],
        function: Function | None = None,
    ) -> None:
        self.templates, self.longest, self.nearest = list(templates), longest, nearest
        self.function = function
        self.keys: list[str] = []
        self.template: list[int] = []
        self._number: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, template: int, key: str) -> int:
        """The number of an attribute, which is new or known."""
        number = self._number.setdefault((template, key), len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
            self.template.append(template)
        return number

    def learn(self, text: Text, end: Ints, length: Ints) -> None:
        """Add the attributes of these segments: last tokens and numbers of tokens."""
        start = end - length + 1
        for i, template in enumerate(self.templates):
            if template.kind in ("length", "length_range"):
                for d in sorted(set(length.tolist())):
                    self.add(i, length_key(template.kind, d))
            elif template.kind in FORMS:
                words = [*map(FORMS[template.kind], text.columns[template.column])]
                for a, b in zip(start.tolist(), (end + 1).tolist()):
                    self.add(i, WORDS.join(words[a:b]))
            elif template.kind == "near":
                for key in self.nearest[template.name].bins:
                    self.add(i, key)
            else:
                sequence = np.searchsorted(text.offsets, start, side="right") - 1
                for s, a, d in zip(sequence.tolist(), start.tolist(), length.tolist()):
                    for key in self._called(text, s, a - int(text.offsets[s]), d):
                        self.add(i, key)

    def encode(self, text: Text, n_threads: int) -> Encoded:
        """The attributes of all candidates."""
        found = [self._template(i, text, n_threads) for i in range(len(self.templates))]
        n = int(text.offsets[-1]) * self.longest
        rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)])
        ids = np.concatenate([np.zeros(0, np.int64), *(ids for _, ids in found)])
        order = np.argsort(rows, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
        return Encoded(text.offsets * self.longest, ptr, ids[order].astype(np.int32), None)

    def _template(self, i: int, text: Text, n_threads: int) -> tuple[Ints, Ints]:
        """Rows and attributes of one template."""
        template = self.templates[i]
        if template.kind in ("length", "length_range"):
            return self._lengths(i, text)
        if template.kind in FORMS:
            return self._texts(i, text)
        if template.kind == "near":
            nearest = self.nearest[template.name]
            rows, bins = nearest.cells(text.columns[template.column], text.offsets, self.longest, n_threads)
            numbers = np.array([self._number.get((i, key), -1) for key in nearest.bins], np.int64)[bins]
            return rows[numbers >= 0], numbers[numbers >= 0]
        return self._functions(i, text)

    def _lengths(self, i: int, text: Text) -> tuple[Ints, Ints]:
        place = _places(text.offsets)
        kind, D = self.templates[i].kind, self.longest
        numbers = np.array([self._number.get((i, length_key(kind, d + 1)), -1) for d in range(D)], np.int64)
        fits = (np.arange(D) <= place[:, None]) & (numbers >= 0)
        token, d = np.nonzero(fits)
        return token * D + d, numbers[d]

    def _texts(self, i: int, text: Text) -> tuple[Ints, Ints]:
        template, D = self.templates[i], self.longest
        tree = _Tree(
            [(key.split(WORDS), a) for a, (t, key) in enumerate(zip(self.template, self.keys)) if t == i]
        )
        form = FORMS[template.kind]
        known: dict[str, int] = {}
        column = text.columns[template.column]
        for word in set(column):
            known[word] = tree.words.get(form(word), -1)
        words = np.array([known[word] for word in column], np.int64)
        ends = np.repeat(text.offsets[1:], np.diff(text.offsets))
        rows, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        start, node = np.arange(len(words)), np.zeros(len(words), np.int64)
        for d in range(D):
            inside = start + d < ends[start]
            start, node = start[inside], node[inside]
            node = tree.step(node, words[start + d])
            start, node = start[node >= 0], node[node >= 0]
            attribute = tree.attribute[node]
            whole = attribute >= 0
            rows.append((start[whole] + d) * D + d)
            ids.append(attribute[whole])
        return np.concatenate(rows), np.concatenate(ids)

    def _functions(self, i: int, text: Text) -> tuple[Ints, Ints]:
        rows, ids, D = [], [], self.longest
        for s, (a, b) in enumerate(zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist())):
            for start in range(b - a):
                for d in range(1, min(D, b - a - start) + 1):
                    for key in self._called(text, s, start, d):
                        number = self._number.get((i, key))
                        if number is not None:
                            rows.append((a + start + d - 1) * D + d - 1)
                            ids.append(number)
        return np.array(rows, np.int64), np.array(ids, np.int64)

    def _called(self, text: Text, s: int, start: int, length: int) -> list[str]:
        if self.function is None:
            raise missing_function("segment_features", "segment_features=function")
        given = self.function(text.sequences[s], start, start + length)
        keys = [given] if isinstance(given, str) else list(given)
        for key in keys:
            if not isinstance(key, str):
                raise InputError(
                    f"sequence {s}, segment {start} to {start + length}: segment_features returned {key!r}; "
                    "it must return a list of texts"
                )
        return keys


class _Tree:
    """Texts as a tree of words: node 0 is the root, and nodes at which a text ends have its attribute."""

    def __init__(self, texts: Iterable[tuple[list[str], int]]) -> None:
        self.words: dict[str, int] = {}
        children: dict[tuple[int, int], int] = {}
        attribute = [-1]
        for words, number in texts:
            node = 0
            for word in words:
                key = node, self.words.setdefault(word, len(self.words))
                node = children.setdefault(key, len(attribute))
                if node == len(attribute):
                    attribute.append(-1)
            attribute[node] = number
        self.attribute = np.array(attribute, np.int64)
        self._width = max(len(self.words), 1)
        pairs = np.array([*children], np.int64).reshape(-1, 2)
        keys = pairs[:, 0] * self._width + pairs[:, 1]
        order = np.argsort(keys)
        self._keys, self._children = keys[order], np.array([*children.values()], np.int64)[order]

    def step(self, node: Ints, word: Ints) -> Ints:
        """The child of each node by a word, -1 where there is none."""
        if not len(self._keys):
            return np.full(len(node), -1, np.int64)
        wanted = node * self._width + word
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where((word >= 0) & (self._keys[at] == wanted), self._children[at], -1)


def _places(offsets: Ints) -> Ints:
    """[tokens] the position of each token in its sequence."""
    return np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], np.diff(offsets))
