"""Template features from the texts of their attributes, as CRF++ and Wapiti store them.

Those tools know an attribute by its text alone: ``U05:1/2/3`` of ``U05:%x[-1,0]/%x[0,0]`` arises from the
words ``1`` and ``2/3`` as well as from ``1/2`` and ``3``, and a word spelled ``_B-1`` is the same as the
position before the first. Each way to read a text is therefore an attribute of its own here; those of one
text get the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.joined import ends, joined
from fieldcraft.features.templates import Templates

MOST_READINGS = 1000  # of one text


class FromTexts(NamedTuple):
    """Features, and for each attribute the number of its text."""

    features: TemplateFeatures
    text: NDArray[np.int64]


class Builder:
    """Collects attributes by their texts.

    Parameters
    ----------
    templates : templates in the language of CRF++ or Wapiti
    """

    def __init__(self, templates: Templates) -> None:
        self.features = TemplateFeatures(templates)
        self.plan: dict[str, Any] = self.features._plan
        self.n_streams = len(self.plan["streams"])
        self.columns: list[dict[str, int]] = [{} for _ in range(self.plan["n_columns"])]
        self.values: list[dict[str, int]] = [{} for _ in range(self.n_streams)]
        for values, stream in zip(self.values, self.plan["streams"]):
            for value in stream["given"]:
                values.setdefault(value, len(values))
        self.pairs: list[dict[int, int]] = [{} for _ in self.plan["pairs"]]
        self.tables: list[dict[int, int]] = [{} for _ in self.plan["templates"]]
        self.text: list[int] = []  # [attributes] the number of its text
        self.owners = self._owners()
        self.lengths = sorted({len(before) for _, before in self.owners})
        names = self.plan["boundary_names"]
        self.outside = {name: names.index(name) for name in names}

    def _owners(self) -> dict[tuple[str, str], list[int]]:
        """(part, text before the first value) -> templates with a table."""
        owners: dict[tuple[str, str], list[int]] = {}
        for k, template in enumerate(self.features.templates):
            if self.plan["templates"][k][3] == k:
                before = self.features._forms[k][0][0]
                owners.setdefault((template.part, before), []).append(k)
        return owners

    def add(self, text: str, part: str, number: int) -> None:
        """Add the attributes with a text, the text with this number."""
        for length in self.lengths:
            for k in self.owners.get((part, text[:length]), ()):
                for values in readings(text, self.features._forms[k][0]):
                    self._add_values(k, values, number)

    def _add_values(self, k: int, values: list[str], number: int) -> None:
        compilation = self.features._compilation
        placed = [""] * len(values)
        for value, at in zip(values, compilation.orders[k]):
            placed[at] = value
        chain = compilation.chains[k]
        streams = [chain[0], *(self.plan["pairs"][node - self.n_streams][1] for node in chain[1:])]
        for ids in product(*(self._ids(stream, value) for stream, value in zip(streams, placed))):
            value_id = ids[0]
            for node, right in zip(chain[1:], ids[1:]):
                pairs = self.pairs[node - self.n_streams]
                value_id = pairs.setdefault(value_id << 32 | right, len(pairs))
            if self.tables[k].setdefault(value_id, len(self.text)) == len(self.text):
                self.text.append(number)

    def _ids(self, stream: int, value: str) -> list[int]:
        """The ids of a value: as a string, and as a position outside of the sequence."""
        inside = len(self.plan["boundary_names"])
        plan = self.plan["streams"][stream]
        if plan["source"] != "column":
            return [] if value else [inside]
        table = self.values[stream] if plan["steps"] else self.columns[plan["column"]]
        ids = [inside + table.setdefault(value, len(table))]
        if plan["outside"] == "boundary" and value in self.outside:
            ids.append(self.outside[value])
        return ids

    def finish(self) -> FromTexts:
        """The features with all attributes."""
        settings, _ = self.features.state()
        features = TemplateFeatures.from_state(settings, self._arrays())
        return FromTexts(features, np.array(self.text, np.int64))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        strings = [_strings(table) for table in [*self.columns, *self.values]]
        slots = [_core.string_slots(data, starts) for data, starts in strings]
        maps = [self._map(stream) for stream in range(self.n_streams)]
        pairs = [np.fromiter(table, np.uint64, len(table)) for table in self.pairs]
        pair_slots = [_core.pair_slots(keys) for keys in pairs]
        tables = [self._table(k) for k in range(len(self.tables))]
        data, starts = [d for d, _ in strings], [s for _, s in strings]
        return {
            **{"string_bytes": joined(data, np.uint8), "byte_ptr": ends(data)},
            **{"string_starts": joined(starts, np.uint32), "start_ptr": ends(starts)},
            **{"string_slots": joined(slots, np.uint32), "string_slot_ptr": ends(slots)},
            **{"maps": joined(maps, np.int32), "map_ptr": ends(maps)},
            **{"pairs": joined(pairs, np.uint64), "pair_ptr": ends(pairs)},
            **{"pair_slots": joined(pair_slots, np.uint64), "pair_slot_ptr": ends(pair_slots)},
            **{"tables": joined(tables, np.int32), "table_ptr": ends(tables)},
        }

    def _table(self, k: int) -> NDArray[np.int32]:
        """[values of its node] the attribute of each value of a template; empty if it shares another's."""
        node, _, _, owner = self.plan["templates"][k]
        if owner != k:
            return np.empty(0, np.int32)
        attributes = self.tables[k]
        table = np.full(self._node_size(node), -1, np.int32)
        table[np.fromiter(attributes, np.int64, len(attributes))] = list(attributes.values())
        return table

    def _node_size(self, node: int) -> int:
        if node >= self.n_streams:
            return len(self.pairs[node - self.n_streams])
        plan, inside = self.plan["streams"][node], len(self.plan["boundary_names"])
        if plan["source"] != "column":
            return inside + 1
        return inside + len(self.values[node] if plan["steps"] else self.columns[plan["column"]])

    def _map(self, stream: int) -> NDArray[np.int32]:
        """[strings of the column] the value of each in a stream with functions, -1 if it is unknown."""
        plan = self.plan["streams"][stream]
        if plan["source"] != "column" or not plan["steps"]:
            return np.empty(0, np.int32)
        inside, values = len(self.plan["boundary_names"]), self.values[stream]
        results = self.features._evaluate(stream, list(self.columns[plan["column"]]))
        ids = (-1 if r is None or r not in values else inside + values[r] for r in results)
        return np.fromiter(ids, np.int32, len(results))


def readings(text: str, pieces: list[str]) -> Iterator[list[str]]:
    """All values that make up a text with these literal pieces before, between and after them."""
    if not text.startswith(pieces[0]) or not text.endswith(pieces[-1]):
        return
    end = len(text) - len(pieces[-1])
    for count, values in enumerate(_between(text, len(pieces[0]), end, pieces[1:-1])):
        if count == MOST_READINGS:
            raise ModelFileError(f"the attribute {text[:60]!r} can be read in more than {MOST_READINGS} ways")
        yield values


def _between(text: str, start: int, end: int, separators: list[str]) -> Iterator[list[str]]:
    if start > end:
        return
    if not separators:
        yield [text[start:end]]
        return
    piece, rest = separators[0], separators[1:]
    at = text.find(piece, start, end)
    while at >= 0:
        for values in _between(text, at + len(piece), end, rest):
            yield [text[start:at], *values]
        at = text.find(piece, at + 1, end) if at < end else -1


def _strings(table: dict[str, int]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The strings of a table end to end, and [n + 1] where each begins."""
    encoded = [key.encode() for key in table]
    return np.frombuffer(b"".join(encoded), np.uint8), ends(encoded).astype(np.uint32)
