"""Features of segments: of their tokens, of their sides, and of whole segments.

Ids: those of tokens first, then those of sides, then those of whole segments. The attributes of tokens and
sides belong to tokens (``Encoded``), those of whole segments to candidates (``Encoded.cells``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.beside_tokens import Arrays, BesideTokens, named, under
from fieldcraft.features.column_reader import RowReader
from fieldcraft.features.encoded import Encoded, EncodedSegments
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.gazetteers import Gazetteer
from fieldcraft.features.segment_table import Function, SegmentTable, Text
from fieldcraft.features.segment_templates import SegmentTemplate, SegmentTemplates, as_template
from fieldcraft.features.segment_templates import parse_segment_templates as parse
from fieldcraft.features.several import parts_of
from fieldcraft.features.similarity import Nearest
from fieldcraft.features.stored import as_stored
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import Template, col


class SegmentFeatures(BesideTokens):
    """Encoder of tokens and of candidate segments.

    Parameters
    ----------
    tokens : encoder of the features of tokens
    text : templates of segments, see segment_templates.py
    longest : most tokens of a candidate
    gazetteers : those that ``near`` names
    function : (sequence, start, end) -> attributes of a segment, or None
    needs_function : whether such a function belongs to the features; by default if there is one
    """

    def __init__(
        self,
        tokens: Any,
        text: str,
        longest: int,
        *,
        gazetteers: Mapping[str, Gazetteer] | None = None,
        function: Function | None = None,
        needs_function: bool | None = None,
    ) -> None:
        self.tokens, self.text, self.longest = tokens, text, longest
        self.near = dict(gazetteers or {})
        self.needs_function = function is not None if needs_function is None else needs_function
        self.segment_templates: SegmentTemplates = parse(text)
        whole = [*self.segment_templates.whole]
        if self.needs_function:
            whole.append(SegmentTemplate("function"))
        lacking = [name for name in self.segment_templates.gazetteers if name not in self.near]
        if lacking:
            raise InputError(f"near({lacking[0]}, …): no such gazetteer; pass gazetteers=[fc.Gazetteer(…)]")
        nearest = {t.name: Nearest(self.near[t.gazetteer], t.similarity) for t in whole if t.kind == "near"}
        self.table = SegmentTable(whole, longest, nearest, function)
        sides = [side.template for side in self.segment_templates.sides]
        self.sides = TemplateFeatures(self._reading(sides)) if sides else None
        if (sides or self.segment_templates.columns) and tokens.kind == "free":
            raise InputError(
                "templates of segments other than segment.length look at columns, and X holds features: pass "
                "templates= too, or segment_features=function"
            )

    @property
    def parts(self) -> list[Any]:
        """The encoders of tokens."""
        return parts_of(self.tokens) if self.sides is None else [*parts_of(self.tokens), self.sides]

    # -- what every encoder has ---------------------------------------------------------------------

    @property
    def starts(self) -> list[int]:
        """The first ids of sides and whole segments, and the number of all."""
        first = int(self.tokens.n_attributes)
        second = first + (0 if self.sides is None else self.sides.n_attributes)
        return [first, second, second + len(self.table)]

    @property
    def n_attributes(self) -> int:
        return self.starts[-1]

    @property
    def templates(self) -> list[Template]:
        sides = [as_template(side.name, side.part) for side in self.segment_templates.sides]
        whole = [as_template(template.name, "segment") for template in self.table.templates]
        return [*self.tokens.templates, *sides, *whole]

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """[A] the template of each attribute."""
        n, m = len(list(self.tokens.templates)), len(self.segment_templates.sides)
        sides = [] if self.sides is None else [self.sides.attribute_template + n]
        whole = np.array(self.table.template, np.int32) + n + m
        return np.concatenate([self.tokens.attribute_template, *sides, whole]).astype(np.int32)

    @property
    def gazetteers(self) -> dict[str, Gazetteer]:
        return {**getattr(self.tokens, "gazetteers", {}), **self.near}

    def attribute_text(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The text of attributes, for display."""
        first, second, _ = self.starts
        wanted = np.asarray(list(ids), np.int64)
        out = np.empty(len(wanted), object)
        mine = wanted < first
        out[mine] = self.tokens.attribute_text(wanted[mine])
        side = (wanted >= first) & (wanted < second)
        if self.sides is not None and side.any():
            names = [s.name.partition("(")[0] for s in self.segment_templates.sides]
            at = wanted[side] - first
            owners = [names[t] for t in self.sides.attribute_template[at]]
            out[side] = [f"{name}({text})" for name, text in zip(owners, self.sides.attribute_text(at))]
        for i in np.flatnonzero(wanted >= second):
            a = wanted[i] - second
            out[i] = self.table.templates[self.table.template[a]].shown(self.table.keys[a])
        return out.tolist()  # type: ignore[no-any-return]

    # -- sequences ----------------------------------------------------------------------------------

    def learn(
        self, X: Any, offsets: NDArray[np.int64], end: NDArray[Any], length: NDArray[Any], n_threads: int
    ) -> None:
        """Add the attributes of the segments of the training data: their last tokens and lengths."""
        self._refuse_strings(X)
        if self.sides is not None:
            self.sides.encode(X, grow=True, n_threads=n_threads)
        if self.table.templates:
            self.table.learn(self._text(X, offsets), end.astype(np.int64), length.astype(np.int64))

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        """The attributes of tokens and of candidates; ``grow`` adds those of tokens alone."""
        self._refuse_strings(X)
        encoded: Encoded = self.tokens.encode(X, grow=grow, n_threads=n_threads)
        if self.sides is not None:
            sides = self.sides.encode(X, grow=False, n_threads=n_threads)
            encoded = _side_by_side(encoded, sides, self.starts[0])
        if not self.table.templates:
            return encoded
        cells = self.table.encode(self._text(X, encoded.offsets), n_threads)
        shifted = (cells.attributes + self.starts[1]).astype(np.int32)
        return EncodedSegments.of(encoded, cells._replace(attributes=shifted))

    @property
    def _looks(self) -> Any:
        """The templates of tokens."""
        return parts_of(self.tokens)[0].templates

    def _reading(self, templates: list[Template]) -> Templates:
        """A set that reads the columns of tokens which are tuples in the order of the templates of tokens."""
        known = self._looks
        if getattr(known, "positional", False):
            raise InputError("templates of CRF++ and Wapiti name no columns; segments need templates that do")
        named = Templates(templates).named_columns
        declared = getattr(known, "declared_columns", None)
        lacking = [name for name in named if declared is not None and name not in declared]
        if lacking:
            raise InputError(f"column {lacking[0]!r} is not declared; add it to the line 'columns …'")
        columns = getattr(known, "columns", [])
        return Templates(templates, columns=dict.fromkeys([*columns, *named]))

    def _text(self, X: Any, offsets: NDArray[np.int64]) -> Text:
        names = self.segment_templates.columns
        columns: dict[str, list[str]] = {}
        if names:
            reader = RowReader(self._reading([col(name) for name in names]))
            for name, lists in zip(names, reader.read(X)):
                columns[name] = [word for words in lists for word in words]
        return Text(X, columns, offsets)

    def _refuse_strings(self, X: Any) -> None:
        """InputError where tokens are plain strings, which have one column, and templates look at another."""
        first = next((row for row in X if not hasattr(row, "columns") and len(row)), None)
        if self.kind == "free" or not isinstance(first, (list, tuple)) or not isinstance(first[0], str):
            return
        sides = [] if self.sides is None else self.sides.templates.named_columns
        names = dict.fromkeys([*self._looks.named_columns, *sides, *self.segment_templates.columns])
        if len(names) > 1:
            raise InputError(
                f"tokens are plain strings, but the templates look at the columns {', '.join(names)}; give "
                "each token as a tuple or a dict"
            )

    # -- files --------------------------------------------------------------------------------------

    def keep(self, ids: NDArray[np.int64]) -> SegmentFeatures:
        """An encoder with only these attributes, which must be sorted, renumbered in this order."""
        first, second, _ = self.starts
        a, b = np.searchsorted(ids, [first, second])
        kept = self._with(self.tokens.keep(ids[:a]))
        if self.sides is not None:
            kept.sides = self.sides.keep(ids[a:b] - first)
        for i in (ids[b:] - second).tolist():
            kept.table.add(self.table.template[i], self.table.keys[i])
        return kept

    def _with(self, tokens: Any) -> SegmentFeatures:
        return SegmentFeatures(
            tokens,
            self.text,
            self.longest,
            gazetteers=self.near,
            function=self.table.function,
            needs_function=self.needs_function,
        )

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The content of a model file: a dict for JSON, and arrays."""
        settings, arrays = super().state()
        settings |= {"text": self.text, "longest": self.longest, "function": self.needs_function, "near": []}
        if self.sides is not None:
            settings["sides"], tables = self.sides.state()
            arrays |= named("sides.", tables)
        for i, gazetteer in enumerate(self.near.values()):
            described, tables = gazetteer.state()
            settings["near"].append(described)
            arrays |= named(f"near.{i}.", tables)
        keys = [key.encode("utf-8", "surrogatepass") for key in self.table.keys]
        arrays["cells.bytes"] = np.frombuffer(b"".join(keys), np.uint8)
        arrays["cells.ends"] = np.cumsum([len(key) for key in keys], dtype=np.int64)
        arrays["cells.template"] = np.array(self.table.template, np.int32)
        return settings, arrays

    def __reduce__(self) -> Any:
        return type(self).from_state, self.state()

    @classmethod
    def restored(
        cls, tokens: Any, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> SegmentFeatures:
        near = [Gazetteer.from_state(s, under(f"near.{i}.", arrays)) for i, s in enumerate(settings["near"])]
        if type(settings["longest"]) is not int or not 1 <= settings["longest"] <= 1 << 20:
            raise ValueError(f"segments of {settings['longest']!r} tokens")
        named = {gazetteer.name: gazetteer for gazetteer in near}
        needs = bool(settings["function"])
        made = cls(tokens, settings["text"], settings["longest"], gazetteers=named, needs_function=needs)
        if made.sides is not None:
            made.sides = TemplateFeatures.from_state(settings["sides"], under("sides.", arrays))
        text = as_stored(arrays, "cells.bytes", np.uint8).tobytes()
        ends = as_stored(arrays, "cells.ends", np.int64).tolist()
        template = as_stored(arrays, "cells.template", np.int32).tolist()
        if len(ends) != len(template) or any(not 0 <= t < len(made.table.templates) for t in template):
            raise ValueError("the attributes of segments do not fit their templates")
        for i, (a, b) in enumerate(zip([0, *ends], ends)):
            if not 0 <= a <= b <= len(text):
                raise ValueError("the texts of segments overlap")
            key = text[a:b].decode("utf-8", "surrogatepass")
            if made.table.add(template[i], key) != i:
                raise ValueError("an attribute of segments occurs twice")
        return made


def _side_by_side(tokens: Encoded, sides: Encoded, first: int) -> Encoded:
    """The attributes of tokens followed by those of sides, whose ids begin at ``first``."""
    counts = np.stack([np.diff(tokens.token_ptr), np.diff(sides.token_ptr)], axis=1)
    owner = np.concatenate([np.repeat(np.arange(len(counts)), column) for column in counts.T])
    order = np.argsort(owner, kind="stable")
    ids = np.concatenate([tokens.attributes, sides.attributes + first])[order].astype(np.int32)
    values = None
    if tokens.values is not None:
        values = np.concatenate([tokens.values, np.ones(len(sides.attributes))])[order]
    ptr = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
    return Encoded(tokens.offsets, ptr, ids, values)
