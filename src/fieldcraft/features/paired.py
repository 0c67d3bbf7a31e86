"""Features of tokens and of pairs of tokens: what a skip chain looks at.

Ids: those of tokens first, then those of the templates of pairs where these differ. A pair has the
attributes of both of its ends, each once, with the larger of two values: observations are or-ed. Last come
those that say how the phrases around both ends lie to each other, where these are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.beside_tokens import Arrays, BesideTokens, named, under
from fieldcraft.features.column_reader import RowReader
from fieldcraft.features.encoded import Encoded, gather
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.segment_templates import as_template
from fieldcraft.features.several import parts_of
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import Template, col
from fieldcraft.features.word_pairs import RELATIONS, SIMILARITIES, WordPairs, phrase_relation

SAME, NONE = "same", "none"  # attributes of pairs: those of tokens, or none


class EncodedPairs(Encoded):
    """Attributes of tokens, and of pairs of tokens, which have a sequence each.

    ``pairs`` has a row for each pair; ``scope`` [P, 2] their positions within the batch.
    """

    pairs: Encoded
    scope: NDArray[np.int32]

    @classmethod
    def of(cls, tokens: Encoded, pairs: Encoded, scope: NDArray[np.int32]) -> EncodedPairs:
        """All of the same sequences."""
        made = cls(*tokens)
        made.pairs, made.scope = pairs, scope
        return made

    def take(self, sequences: NDArray[np.integer[Any]]) -> EncodedPairs:
        tokens = Encoded(*self).take(sequences)
        at, rows = gather(self.pairs.offsets, sequences)
        moved = np.repeat(self.offsets[:-1][sequences] - tokens.offsets[:-1], np.diff(rows))
        scope = (self.scope[at] - moved[:, None]).astype(np.int32)
        return EncodedPairs.of(tokens, self.pairs.take(sequences), scope)

    def for_part(self, part: str) -> Encoded:
        return self.pairs if part == "skip" else self

    def arrays(self) -> list[NDArray[Any] | None]:
        return [*self, *self.pairs, self.scope]


class PairFeatures(BesideTokens):
    """Encoder of tokens and of pairs of similar tokens.

    Parameters
    ----------
    tokens : encoder of the features of tokens
    rule : which tokens form pairs
    observed : attributes of pairs: "same" (those of tokens), "none", or template text
    column : the column with the words that are compared
    relations : those of the phrases of a pair (word_pairs.RELATIONS) that are attributes
    """

    def __init__(
        self,
        tokens: Any,
        rule: WordPairs,
        observed: str = SAME,
        column: str = "word",
        relations: Iterable[str] = (),
    ) -> None:
        self.tokens, self.rule, self.observed, self.column = tokens, rule.checked(), observed, column
        self.relations = tuple(relations)
        if tokens.kind == "free":
            raise InputError(
                "skip edges compare words, and X holds features: pass templates= and columns of words"
            )
        if getattr(tokens.templates, "positional", False):
            raise InputError(
                "templates of CRF++ and Wapiti name no columns; skip chains need templates that do"
            )
        self.own = None
        if observed not in (SAME, NONE):
            self.own = TemplateFeatures(self._reading(list(Templates.resolve(observed))))

    # -- what every encoder has ---------------------------------------------------------------------

    @property
    def parts(self) -> list[Any]:
        """The encoders of tokens and pairs."""
        return parts_of(self.tokens) if self.own is None else [*parts_of(self.tokens), self.own]

    @property
    def n_attributes(self) -> int:
        return self._first_relation + len(self.relations)

    @property
    def _first_relation(self) -> int:
        return sum(int(part.n_attributes) for part in self.parts)

    @property
    def templates(self) -> list[Template]:
        own = [] if self.own is None else list(self.own.templates)
        phrases = [as_template("phrase", "skip")] if self.relations else []
        return [*self.tokens.templates, *(replace(one, part="skip") for one in own), *phrases]

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """[A] the template of each attribute."""
        own = [] if self.own is None else [self.own.attribute_template + len(list(self.tokens.templates))]
        phrases = np.full(len(self.relations), len(self.templates) - 1)
        return np.concatenate([self.tokens.attribute_template, *own, phrases]).astype(np.int32)

    @property
    def gazetteers(self) -> dict[str, Any]:
        return dict(getattr(self.tokens, "gazetteers", {}))

    def attribute_text(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The text of attributes, for display."""
        wanted, first = np.asarray(list(ids), np.int64), int(self.tokens.n_attributes)
        out = np.empty(len(wanted), object)
        mine, phrase = wanted < first, wanted >= self._first_relation
        out[mine] = self.tokens.attribute_text(wanted[mine])
        if self.own is not None:
            others = ~mine & ~phrase
            out[others] = [f"skip({text})" for text in self.own.attribute_text(wanted[others] - first)]
        out[phrase] = [f"phrase={self.relations[i]}" for i in wanted[phrase] - self._first_relation]
        return out.tolist()  # type: ignore[no-any-return]

    # -- sequences ----------------------------------------------------------------------------------

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> EncodedPairs:
        """The attributes of tokens and of pairs."""
        encoded: Encoded = self.tokens.encode(X, grow=grow, n_threads=n_threads)
        scope, rows, words = self._pairs(X, encoded.offsets)
        looks = encoded
        if self.own is not None:
            looks = self.own.encode(X, grow=grow, n_threads=n_threads)
            looks = looks._replace(attributes=looks.attributes + np.int32(self.tokens.n_attributes))
        edges = np.array([t.part == "edge" for t in self.tokens.templates], bool)
        pairs = _joined(looks, scope, rows)
        if self.observed == NONE:
            empty = np.zeros(len(scope) + 1, np.int64)
            pairs = Encoded(rows, empty, np.zeros(0, np.int32), None)
        elif edges.any() and self.own is None:
            pairs = _without(pairs, edges[self.tokens.attribute_template])
        if self.relations:
            pairs = self._with_relations(pairs, scope, words)
        return EncodedPairs.of(encoded, pairs, scope)

    def _with_relations(self, pairs: Encoded, scope: NDArray[np.int32], words: list[list[str]]) -> Encoded:
        """The pairs with an attribute more, where theirs is known: how the phrases of both ends lie."""
        number = {name: i + self._first_relation for i, name in enumerate(self.relations)}
        offsets = np.cumsum([0, *map(len, words)])
        of = np.repeat(np.arange(len(words)), np.diff(pairs.offsets))
        found = [
            number.get(phrase_relation(words[i], int(u - offsets[i]), int(v - offsets[i])), -1)
            for i, (u, v) in zip(of.tolist(), scope.tolist())
        ]
        ids = np.array(found, np.int32).reshape(-1)
        ends = pairs.token_ptr[1:][ids >= 0]  # where each goes: behind the others of its pair
        values = None if pairs.values is None else np.insert(pairs.values, ends, 1.0)
        ptr = pairs.token_ptr + np.concatenate([[0], np.cumsum(ids >= 0)])
        return Encoded(pairs.offsets, ptr, np.insert(pairs.attributes, ends, ids[ids >= 0]), values)

    def _pairs(
        self, X: Any, offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], list[list[str]]]:
        """[P, 2] positions within the batch, [N + 1] the pairs of each sequence, and the words."""
        words = [list(row) for row in RowReader(self._reading([col(self.column)])).read(X)[0]]
        found = [self.rule.of(row, i) for i, row in enumerate(words)]
        rows = np.cumsum([0, *map(len, found)], dtype=np.int64)
        moved = [pairs + np.int32(first) for pairs, first in zip(found, offsets)]
        return np.concatenate([np.zeros((0, 2), np.int32), *moved]).astype(np.int32), rows, words

    def _reading(self, templates: list[Template]) -> Templates:
        """A set that reads the columns of tokens which are tuples in the order of the templates of tokens."""
        known = self.tokens.templates
        named = Templates(templates).named_columns
        columns = getattr(known, "columns", [])
        return Templates(templates, columns=dict.fromkeys([*columns, *named]))

    # -- files --------------------------------------------------------------------------------------

    def keep(self, ids: NDArray[np.int64]) -> PairFeatures:
        """An encoder with only these attributes, which must be sorted, renumbered in this order."""
        first = int(self.tokens.n_attributes)
        a, b = np.searchsorted(ids, [first, self._first_relation]).tolist()
        relations = [self.relations[i] for i in ids[b:] - self._first_relation]
        kept = PairFeatures(self.tokens.keep(ids[:a]), self.rule, self.observed, self.column, relations)
        if self.own is not None:
            kept.own = self.own.keep(ids[a:b] - first)
        return kept

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The content of a model file: a dict for JSON, and arrays."""
        settings, arrays = super().state()
        similarity = self.rule.similarity if isinstance(self.rule.similarity, str) else None
        settings |= {
            "similarity": similarity,
            "cap": self.rule.max_pairs_per_word,
            "capitalised": self.rule.capitalised,
        }
        settings |= {"observed": self.observed, "column": self.column, "relations": [*self.relations]}
        if self.own is not None:
            settings["own"], tables = self.own.state()
            arrays |= named("own.", tables)
        return settings, arrays

    def __reduce__(self) -> Any:
        return _rebuilt, (*self.state(), self.rule)

    @classmethod
    def restored(
        cls, tokens: Any, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> PairFeatures:
        similarity, cap = settings["similarity"], settings["cap"]
        if similarity is not None and similarity not in SIMILARITIES:
            raise ValueError(f"a similarity {similarity!r}")
        if cap is not None and (type(cap) is not int or cap < 1):
            raise ValueError(f"a cap of {cap!r} pairs")
        if not isinstance(settings["observed"], str) or not isinstance(settings["column"], str):
            raise ValueError("the observations of pairs are damaged")
        rule = WordPairs(forgotten if similarity is None else similarity, cap, bool(settings["capitalised"]))
        relations = settings["relations"]
        if not set(relations) <= set(RELATIONS) or len(set(relations)) < len(relations):
            raise ValueError(f"phrases that lie {relations!r}")
        made = cls(tokens, rule, settings["observed"], settings["column"], relations)
        if made.own is not None:
            made.own = TemplateFeatures.from_state(settings["own"], under("own.", arrays))
        return made


def forgotten(a: str, b: str) -> bool:
    del a, b
    raise InputError(
        "the model was trained with a similarity of your own, which its file does not have; set it again: "
        "model.similarity = function"
    )


def _rebuilt(settings: dict[str, Any], arrays: Arrays, rule: WordPairs) -> PairFeatures:
    made = PairFeatures.from_state(settings, arrays)
    made.rule = rule
    return made


def _joined(tokens: Encoded, scope: NDArray[np.int32], rows: NDArray[np.int64]) -> Encoded:
    """A row for each pair with the attributes of both ends, each once."""
    first, first_ptr = gather(tokens.token_ptr, scope[:, 0])
    second, second_ptr = gather(tokens.token_ptr, scope[:, 1])
    at = np.concatenate([first, second])
    owner = np.concatenate([np.repeat(np.arange(len(scope)), np.diff(p)) for p in (first_ptr, second_ptr)])
    width = int(tokens.attributes.max(initial=-1)) + 1
    keys, back = np.unique(owner * max(width, 1) + tokens.attributes[at], return_inverse=True)
    ptr = np.searchsorted(keys, np.arange(len(scope) + 1) * max(width, 1)).astype(np.int64)
    values = None
    if tokens.values is not None:
        values = np.full(len(keys), -np.inf)
        np.maximum.at(values, back.ravel(), tokens.values[at])
    return Encoded(rows, ptr, (keys % max(width, 1)).astype(np.int32), values)


def _without(pairs: Encoded, left_out: NDArray[np.bool_]) -> Encoded:
    """The pairs without some attributes [A]."""
    kept = ~left_out[pairs.attributes]
    ptr = np.concatenate([[0], np.cumsum(kept)])[pairs.token_ptr].astype(np.int64)
    values = None if pairs.values is None else pairs.values[kept]
    return Encoded(pairs.offsets, ptr, pairs.attributes[kept], values)
