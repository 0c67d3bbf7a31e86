"""Feature extraction: applies templates to sequences of columns and returns attribute ids.

``encode(X, grow=True)`` adds attributes to the table (new ones get ids in order of first
appearance: token by token, template by template). ``encode(X, grow=False)`` leaves unknown
attributes out and changes nothing, so any number of threads may call it at once.

With ``hash_size`` there is no table: an attribute is the hash of its template and values modulo the
size, and ids ``hash_size`` .. ``2 hash_size - 1`` belong to edge templates.

Hazard: growing while another thread encodes is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.features.column_reader import RowReader
from fieldcraft.features.compilation import Compilation
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.features.pruning import keep_attributes
from fieldcraft.features.stored import as_stored
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import Term

MAX_HASH_SIZE = 2**30 - 1
_ARRAYS: dict[str, type[np.generic]] = {
    "string_bytes": np.uint8,
    "string_starts": np.uint32,
    "string_slots": np.uint32,
    "byte_ptr": np.int64,
    "start_ptr": np.int64,
    "string_slot_ptr": np.int64,
    "maps": np.int32,
    "map_ptr": np.int64,
    "pairs": np.uint64,
    "pair_ptr": np.int64,
    "pair_slots": np.uint64,
    "pair_slot_ptr": np.int64,
    "tables": np.int32,
    "table_ptr": np.int64,
}


class TemplateFeatures:
    """Extracts the attributes of a set of templates.

    Parameters
    ----------
    templates : the set.
    gazetteers : those that the templates use, as a list or as a dict by name.
    hash_size : number of buckets, or None for a table of exact attributes.

    >>> features = TemplateFeatures(Templates.parse("word[-1..0]"))
    >>> encoded = features.encode([["the", "cat"]], grow=True)
    >>> features.attribute_text(encoded.attributes)
    ['word[-1]=<s-1>', 'word=the', 'word[-1]=the', 'word=cat']
    """

    kind = "templates"

    def __init__(
        self,
        templates: Templates,
        *,
        gazetteers: Iterable[Gazetteer] | Mapping[str, Gazetteer] | None = None,
        hash_size: int | None = None,
    ) -> None:
        self.templates = templates
        self.gazetteers = _by_name(gazetteers)
        self.hash_size = hash_size

    @cached_property
    def _compilation(self) -> Compilation:
        return Compilation(self.templates, self.gazetteers)

    @cached_property
    def _plan(self) -> dict[str, Any]:
        size = self.hash_size
        if size is not None and not (isinstance(size, (int, np.integer)) and 0 < size <= MAX_HASH_SIZE):
            raise InputError(f"hash_size must be a whole number in 1 .. {MAX_HASH_SIZE}, not {size!r}")
        return self._compilation.plan()

    @property
    def plan(self) -> dict[str, Any]:
        """The plan of the native extraction (compilation.py)."""
        return self._plan

    @cached_property
    def _table(self) -> Any:
        return self._new_table()

    def _new_table(self) -> Any:
        from fieldcraft import _core

        return _core.TemplateTable(self._plan)

    @cached_property
    def _terms(self) -> list[Term]:
        """The term of each stream, for words that the core cannot evaluate."""
        _ = self._plan
        return list(self._compilation.streams)

    def _evaluate(self, stream: int, words: list[str]) -> list[str | None]:
        term = self._terms[stream]
        if term.source == "gazetteer":
            fold = self.gazetteers[term.gazetteer].fold
            return [fold(word) for word in words]
        return [term.evaluate(word) for word in words]

    @property
    def edge_bias(self) -> bool:
        return self.templates.edge_bias

    @property
    def n_attributes(self) -> int:
        if self.hash_size is None:
            return int(self._table.n_attributes)
        parts = 2 if any(t.part == "edge" for t in self.templates) else 1
        return parts * self.hash_size

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """[A] the template of each attribute; for a bucket, the first template of its part."""
        if self.hash_size is None:
            return self._table.attribute_template()  # type: ignore[no-any-return]
        parts = [t.part for t in self.templates]
        firsts = [parts.index(p) if p in parts else 0 for p in ("node", "edge")]
        return np.repeat(np.array(firsts, np.int32), self.hash_size)[: self.n_attributes]

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        """The attributes of every token, in template order.

        Threads read the columns; if ``grow`` is False they also look up the attributes.
        """
        reader = RowReader(self.templates)
        if not reader.names:
            raise InputError("the templates look at no column; add one, e.g. 'word'")
        if self.hash_size is not None:
            return self._hashed(reader, X, n_threads)
        return self._run(self._table, reader, X, grow=grow, n_threads=n_threads)

    def _run(self, table: Any, reader: RowReader, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        options = reader.names, self._evaluate, grow, n_threads
        try:
            arrays = table.encode_dicts(X, *options) if reader.takes_dicts(X) else None
            if arrays is None:
                arrays = table.encode(reader.read(X), *options)
        except InputError:
            raise
        except ValueError as problem:
            raise InputError(str(problem)) from None
        offsets, token_ptr, attributes = arrays
        return Encoded(offsets, token_ptr, attributes, None)

    def _hashed(self, reader: RowReader, X: Any, n_threads: int) -> Encoded:
        """A table for this call only, whose ids are then replaced by buckets."""
        table = self._new_table()
        exact = self._run(table, reader, X, grow=True, n_threads=n_threads)
        buckets = table.buckets(self.templates.names, self.hash_size)
        return exact._replace(attributes=buckets[exact.attributes])

    def attribute_text(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The text of attributes, for display: ``word[-1]=the``."""
        wanted = np.ascontiguousarray(list(ids), np.int32)
        if self.hash_size is not None:
            return [f"bucket {i}" for i in wanted]
        return self._table.texts(wanted, self._forms)  # type: ignore[no-any-return]

    @cached_property
    def _forms(self) -> list[tuple[list[str], list[int]]]:
        """Per template: literal pieces, and which of the plan's values are shown between them."""
        _ = self._plan
        forms = [template.pieces() for template in self.templates]
        return [([*p], [order[i] for i in v]) for (p, v), order in zip(forms, self._compilation.orders)]

    def keep(self, ids: NDArray[np.int64]) -> TemplateFeatures:
        """An encoder with only these attributes, renumbered in this order."""
        settings, arrays = self.state()
        return self.from_state(settings, arrays | keep_attributes(arrays, self._plan, ids))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The content of a model file: a dict for JSON, and arrays."""
        settings: dict[str, Any] = {
            "templates": str(self.templates),
            "format": self.templates.format,
            "hash_size": self.hash_size,
            "gazetteers": [],
        }
        arrays: dict[str, NDArray[Any]] = {}
        if self.hash_size is None:
            arrays |= self._table.state()
        for i, gazetteer in enumerate(self.gazetteers.values()):
            described, tables = gazetteer.state()
            settings["gazetteers"].append(described)
            arrays |= {f"gazetteer.{i}.{name}": array for name, array in tables.items()}
        return settings, arrays

    def contents(self) -> list[NDArray[Any]]:
        """Arrays that identify it, for a digest."""
        return [array for name, array in self.state()[1].items() if "slot" not in name]

    def __reduce__(self) -> Any:
        return type(self).from_state, self.state()

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TemplateFeatures:
        """The features from the output of ``state``; ModelFileError if the arrays do not fit."""
        try:
            return cls._restored(settings, arrays)
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            raise ModelFileError(f"the features in the model file are damaged: {problem}") from None

    @classmethod
    def _restored(cls, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TemplateFeatures:
        gazetteers = []
        for i, described in enumerate(settings["gazetteers"]):
            start = f"gazetteer.{i}."
            mine = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
            gazetteers.append(Gazetteer.from_state(described, mine))
        templates = Templates.parse(settings["templates"], format=settings["format"])
        features = cls(templates, gazetteers=gazetteers, hash_size=settings["hash_size"])
        _ = features._plan  # raises if the templates cannot be compiled
        if features.hash_size is None:
            features._table.restore(*(as_stored(arrays, name, kind) for name, kind in _ARRAYS.items()))
        return features


def _by_name(gazetteers: Iterable[Gazetteer] | Mapping[str, Gazetteer] | None) -> dict[str, Gazetteer]:
    if gazetteers is None:
        return {}
    return dict(gazetteers) if isinstance(gazetteers, Mapping) else {g.name: g for g in gazetteers}
