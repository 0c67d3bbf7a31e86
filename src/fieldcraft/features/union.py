"""The union of encoders: one encoder with the attributes of all, and where the attributes of each went.

Encoders of the same kind and settings (the same templates and gazetteers, or free features) get one table: an
attribute of several has one id. Of one object there is only one. Others are put side by side (several.py).
Hashed encoders of one size have the same buckets; different sizes cannot be united.

The union of templates works on the tables of ``TemplateFeatures.state``, from strings to values to
conjunctions to attributes (native/extraction.hpp): each level is numbered anew, first what the first encoder
has, then what only the second has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft import _core
from fieldcraft.errors import InputError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.functions import FunctionFeatures
from fieldcraft.features.joined import ends, joined, split
from fieldcraft.features.pruning import halves
from fieldcraft.features.several import SeveralFeatures, parts_of
from fieldcraft.features.user_features import FreeFeatures

Ids = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]


class Union(NamedTuple):
    """One encoder for several.

    encoder : it has the attributes of all
    attributes : for each encoder [A] the new id of each of its attributes
    templates : for each encoder the new number of each of its templates
    """

    encoder: Any
    attributes: list[Ids]
    templates: list[Ids]


def union(encoders: Sequence[Any]) -> Union:
    """The union of encoders; parts that are alike get one table, the others stand side by side."""
    owners = [(i, part) for i, encoder in enumerate(encoders) for part in parts_of(encoder)]
    _check_hashing([part for _, part in owners])
    groups: list[list[Any]] = []
    group_of = []
    for _, part in owners:
        same = (g for g, group in enumerate(groups) if _alike(group[0], part))
        g = next(same, len(groups))
        if g == len(groups):
            groups.append([])
        groups[g].append(part)
        group_of.append((g, len(groups[g]) - 1))
    united = [_united(group) for group in groups]
    whole = united[0][0] if len(united) == 1 else SeveralFeatures(encoder for encoder, _ in united)
    starts, firsts = [0], [0]
    if isinstance(whole, SeveralFeatures):
        starts, firsts = whole.starts.tolist(), whole.first_template
    attributes: list[list[Ids]] = [[] for _ in encoders]
    templates: list[list[Ids]] = [[] for _ in encoders]
    for (i, part), (g, place) in zip(owners, group_of):
        attributes[i].append(united[g][1][place] + starts[g])
        templates[i].append(np.arange(len(list(part.templates))) + firsts[g])
    return Union(whole, [np.concatenate(m) for m in attributes], [np.concatenate(m) for m in templates])


def _check_hashing(parts: Sequence[Any]) -> None:
    sizes = sorted({part.hash_size for part in parts if part.hash_size is not None})
    if len(sizes) > 1:
        raise InputError(
            f"the models hash attributes into {sizes[0]:,} and {sizes[1]:,} ids, which cannot be matched; "
            "train them with the same hash_size"
        )


def _alike(a: Any, b: Any) -> bool:
    """Whether equal texts of both mean the same attribute."""
    if a is b:
        return True
    if type(a) is not type(b) or a.hash_size != b.hash_size:
        return False
    if isinstance(a, FreeFeatures):
        return bool(a.edge_prefix == b.edge_prefix)
    if isinstance(a, FunctionFeatures):
        return _same_function(a, b)
    (left, arrays), (right, others) = a.state(), b.state()
    names = [name for name in arrays if name.startswith("gazetteer.")]
    return left == right and all(np.array_equal(arrays[name], others[name]) for name in names)


def _united(encoders: Sequence[Any]) -> tuple[Any, list[Ids]]:
    """An encoder with the attributes of encoders that are alike, and where those of each went."""
    first = encoders[0]
    maps = [np.arange(first.n_attributes)]
    if first.hash_size is not None or all(encoder is first for encoder in encoders):
        return first, maps * len(encoders)
    unite = next(unite for kind, unite in UNITE.items() if isinstance(first, kind))
    whole = first
    for encoder in encoders[1:]:
        whole, numbers = unite(whole, encoder)
        maps.append(numbers)
    return whole, maps


def _free(a: FreeFeatures, b: FreeFeatures) -> tuple[FreeFeatures, Ids]:
    whole = a.keep(np.arange(a.n_attributes))
    return whole, whole.add(b.attribute_text(range(b.n_attributes))).astype(np.int64)


def _same_function(a: FunctionFeatures, b: FunctionFeatures) -> bool:
    if a.name == b.name and None not in (a.function, b.function) and a.function is not b.function:
        raise InputError(
            f"two models have different functions of the name {a.name!r}; name one of them differently"
        )
    return a.name == b.name and a.columns == b.columns


def _functions(a: FunctionFeatures, b: FunctionFeatures) -> tuple[FunctionFeatures, Ids]:
    table, numbers = _free(a.table, b.table)
    whole = a.with_table(table)
    whole.function = b.function if a.function is None else a.function
    return whole, numbers


def _templates(a: TemplateFeatures, b: TemplateFeatures) -> tuple[TemplateFeatures, Ids]:
    settings, arrays = a.state()
    tables, numbers = _Union(a.plan, arrays, b.state()[1]).unite()
    return TemplateFeatures.from_state(settings, {**arrays, **tables}), numbers


UNITE: dict[type, Callable[..., tuple[Any, Ids]]] = {
    FreeFeatures: _free,
    FunctionFeatures: _functions,
    TemplateFeatures: _templates,
}


class _Union:
    """Two states of the same templates.

    Parameters
    ----------
    plan : of the templates
    a, b : the arrays of both
    """

    def __init__(self, plan: dict[str, Any], a: Arrays, b: Arrays) -> None:
        self.plan, self.a, self.b = plan, a, b
        self.n_streams = len(plan["streams"])
        self.inside = len(plan["boundary_names"])
        self.out: Arrays = {}

    def unite(self) -> tuple[Arrays, Ids]:
        """The tables of the union, and the new ids of the attributes of ``b``."""
        strings = self._strings()
        values = [self._values(i, strings) for i in range(self.n_streams)]  # per node: id in b -> new id
        self._maps(strings, values)
        self._pairs(values)
        return self.out, self._tables(values)

    def _put(self, name: str, ptr: str, parts: list[NDArray[Any]]) -> None:
        self.out[name], self.out[ptr] = joined(parts, self.a[name].dtype), ends(parts)

    def _both(self, name: str, ptr: str) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        return list(zip(split(self.a[name], self.a[ptr]), split(self.b[name], self.b[ptr])))

    def _strings(self) -> list[Ids]:
        """Per table of strings (columns, then streams) the new number of each string of ``b``."""
        numbers, tables = [], []
        data, starts = self._both("string_bytes", "byte_ptr"), self._both("string_starts", "start_ptr")
        for (text_a, text_b), (start_a, start_b) in zip(data, starts):
            table = {string: i for i, string in enumerate(_cut(text_a, start_a))}
            numbers.append(
                np.array([table.setdefault(s, len(table)) for s in _cut(text_b, start_b)], np.int64)
            )
            tables.append(list(table))
        texts = [np.frombuffer(b"".join(table), np.uint8) for table in tables]
        begins = [ends(table).astype(np.uint32) for table in tables]
        self._put("string_bytes", "byte_ptr", texts)
        self._put("string_starts", "start_ptr", begins)
        slots = [_core.string_slots(*pair) for pair in zip(texts, begins)]
        self._put("string_slots", "string_slot_ptr", slots)
        return numbers

    def _values(self, stream: int, strings: list[Ids]) -> Ids | None:
        """The new value of each value of a stream of ``b``; None if they stay."""
        plan = self.plan["streams"][stream]
        if plan["source"] != "column":
            return None
        table = self.plan["n_columns"] + stream if plan["steps"] else plan["column"]
        return np.concatenate([np.arange(self.inside), self.inside + strings[table]])

    def _maps(self, strings: list[Ids], values: list[Ids | None]) -> None:
        """Per stream the value of each string of its column."""
        parts = []
        for stream, (a, b) in enumerate(self._both("maps", "map_ptr")):
            number = strings[self.plan["streams"][stream]["column"]] if len(b) else np.zeros(0, np.int64)
            whole = np.full(max(len(a), int(number.max(initial=-1)) + 1), -1, np.int32)
            whole[number] = _moved(b, values[stream])
            whole[: len(a)] = np.where(a >= 0, a, whole[: len(a)])
            parts.append(whole)
        self._put("maps", "map_ptr", parts)

    def _pairs(self, values: list[Ids | None]) -> None:
        """The conjunctions; appends to ``values`` the new number of each of ``b``."""
        parts = []
        for pair, (a, b) in zip(self.plan["pairs"], self._both("pairs", "pair_ptr")):
            left, right = (_moved(half, values[node]) for node, half in zip(pair[:2], halves(b)))
            keys = left.astype(np.uint64) << np.uint64(32) | right.astype(np.uint64)
            whole, numbers = _appended(a, keys)
            parts.append(whole)
            values.append(numbers)
        self._put("pairs", "pair_ptr", parts)
        self._put("pair_slots", "pair_slot_ptr", [_core.pair_slots(keys) for keys in parts])

    def _tables(self, values: list[Ids | None]) -> Ids:
        """Per template the attribute of each value; returns the new ids of the attributes of ``b``."""
        both = self._both("tables", "table_ptr")
        n_a, n_b = (1 + max((int(t.max(initial=-1)) for t in side), default=-1) for side in zip(*both))
        numbers, moved = np.full(n_b, -1, np.int64), []
        for (node, *_), (a, b) in zip(self.plan["templates"], both):
            at = np.flatnonzero(b >= 0)
            to = _moved(at, values[node])
            known = np.full(max(len(a), int(to.max(initial=-1)) + 1), -1, np.int32)
            known[: len(a)] = a
            numbers[b[at]] = known[to]
            moved.append((known, to, b[at]))
        fresh = numbers < 0
        numbers[fresh] = n_a + np.arange(np.count_nonzero(fresh))
        for known, to, attributes in moved:
            known[to] = numbers[attributes]
        self._put("tables", "table_ptr", [known for known, _, _ in moved])
        return numbers


def _cut(text: NDArray[np.uint8], starts: NDArray[np.uint32]) -> list[bytes]:
    whole, bounds = text.tobytes(), starts.tolist()
    return [whole[a:b] for a, b in zip(bounds, bounds[1:])]


def _moved(ids: NDArray[Any], numbers: Ids | None) -> NDArray[Any]:
    """Ids in their new numbers; -1 stays."""
    return ids if numbers is None else np.where(ids >= 0, np.append(numbers, -1)[ids], -1)


def _appended(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Ids]:
    """``a`` followed by what only ``b`` has, and the position of each element of ``b``."""
    fresh = b[~np.isin(b, a)]
    whole = np.concatenate([a, fresh])
    order = np.argsort(whole, kind="stable")
    return whole, order[np.searchsorted(whole, b, sorter=order)]
