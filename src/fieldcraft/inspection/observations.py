"""The observations of a sequence: words, attributes of the model, and unknown attributes.

The encoder of the model omits unknown attributes, and a hashed one has no names. A second, empty encoder of
the same kind that encodes this sequence only has both: its attributes are those of the model plus the
unknown ones, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Corpus, Sequence
from fieldcraft.errors import InputError
from fieldcraft.features.column_reader import RowReader
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.functions import FunctionFeatures
from fieldcraft.features.several import SeveralFeatures, parts_of
from fieldcraft.features.user_features import FreeFeatures
from fieldcraft.inspection.weights import Rows, WeightTable

EMPTY: dict[type, Callable[[Any], Any]] = {
    FreeFeatures: lambda known: FreeFeatures(edge_prefix=known.edge_prefix),
    TemplateFeatures: lambda known: TemplateFeatures(known.templates, gazetteers=known.gazetteers),
    FunctionFeatures: lambda known: known.empty(),
    SeveralFeatures: lambda known: SeveralFeatures([EMPTY[type(part)](part) for part in known.parts]),
}


def only(sequence: Any) -> Any:
    """X with this sequence only."""
    if isinstance(sequence, Corpus):
        raise InputError(f"a corpus of {len(sequence)} sequences where one was expected; pass one: corpus[0]")
    return Corpus([sequence]) if isinstance(sequence, Sequence) else [sequence]


def incidences(token_ptr: NDArray[np.int64], tokens: Rows) -> tuple[Rows, Rows]:
    """For each attribute of the tokens: its token (an index into ``tokens``), and its position."""
    counts = token_ptr[tokens + 1] - token_ptr[tokens]
    owner = np.repeat(np.arange(len(tokens)), counts)
    shift = np.repeat(token_ptr[tokens] - (np.cumsum(counts) - counts), counts)
    return owner, np.arange(len(owner)) + shift


class Observations:
    """The observations of one sequence; ``X`` is a list of that sequence only."""

    def __init__(self, table: WeightTable, X: Any, encoded: Encoded) -> None:
        self.table = table
        self.X = X
        self.encoded = encoded

    @property
    def values(self) -> NDArray[np.float64]:
        """[nnz] values of the attributes."""
        values = self.encoded.values
        return np.ones(len(self.encoded.attributes)) if values is None else values

    @cached_property
    def _fresh(self) -> tuple[Any, Encoded] | None:
        make = EMPTY.get(type(self.table.encoder))
        if make is None:
            return None
        encoder = make(self.table.encoder)
        return encoder, encoder.encode(self.X, grow=True)

    def words(self) -> list[str | None]:
        """A text for each token: its word, or the token itself if that is a string."""
        encoder, sequence = parts_of(self.table.encoder)[0], self.X[0]
        if isinstance(encoder, TemplateFeatures):
            reader = RowReader(encoder.templates)
            column = reader.names.index("word") if "word" in reader.names else 0
            return list(reader.read(self.X)[column][0])
        tokens = sequence if isinstance(sequence, (list, tuple)) else []
        return [t if isinstance(t, str) else None for t in tokens] or [None] * int(self.encoded.offsets[-1])

    def names(self, places: Rows) -> list[tuple[str, str]]:
        """(text, template) of the attributes at these positions."""
        table = self.table
        if table.hashed and self._fresh is not None and len(self._fresh[1].attributes) == len(self.values):
            encoder, ids = self._fresh[0], self._fresh[1].attributes[places]
        else:
            encoder, ids = table.encoder, self.encoded.attributes[places]
        distinct, back = np.unique(ids, return_inverse=True)
        titles = [t.name for t in encoder.templates]
        of_attribute = encoder.attribute_template[distinct]
        shown = list(zip(encoder.attribute_text(distinct), (titles[k] for k in of_attribute)))
        return [shown[i] for i in back.tolist()]

    def unknown(self, tokens: Rows) -> list[tuple[str, ...]]:
        """The attributes of each token that were not seen in training; empty for hashed ones."""
        nothing: list[tuple[str, ...]] = [()] * len(tokens)
        if self.table.hashed or self._fresh is None:
            return nothing
        encoder, seen = self._fresh
        known_ptr = self.encoded.token_ptr
        short = np.flatnonzero(np.diff(seen.token_ptr)[tokens] > np.diff(known_ptr)[tokens])
        everything = _texts(encoder, seen, tokens[short])
        known = _texts(self.table.encoder, self.encoded, tokens[short])
        for i, all_, mine in zip(short.tolist(), everything, map(set, known)):
            nothing[i] = tuple(text for text in dict.fromkeys(all_) if text not in mine)
        return nothing


def _texts(encoder: Any, encoded: Encoded, tokens: Rows) -> list[list[str]]:
    """The texts of the attributes of each token."""
    owner, place = incidences(encoded.token_ptr, tokens)
    distinct, back = np.unique(encoded.attributes[place], return_inverse=True)
    names = encoder.attribute_text(distinct)
    texts = [names[i] for i in back.tolist()]
    bounds = np.searchsorted(owner, np.arange(len(tokens) + 1)).tolist()
    return [texts[a:b] for a, b in zip(bounds, bounds[1:])]
