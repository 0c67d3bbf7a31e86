"""Several encoders side by side: every token has the attributes of all of them.

The ids of encoder i begin at ``starts[i]``, its templates at ``first_template[i]``: what several models look
at, or the templates and functions of one model, as one table. They take the same sequences: all of them free
features, or all of them columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.encoded import Encoded
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.functions import FunctionFeatures
from fieldcraft.features.terms import Template
from fieldcraft.features.user_features import FreeFeatures

KINDS: dict[str, Any] = {
    "free": FreeFeatures,
    "templates": TemplateFeatures,
    "function": FunctionFeatures,
}


class SeveralFeatures:
    """Encoders side by side.

    Parameters
    ----------
    encoders : of the same kind of sequences; one that is itself of this class counts as its parts

    >>> from fieldcraft.features.templates import Templates
    >>> a, b = (TemplateFeatures(Templates.parse(text)) for text in ("word", "word[1]"))
    >>> both = SeveralFeatures([a, b])
    >>> both.attribute_text(both.encode([["the", "cat"]], grow=True).attributes)
    ['word=the', 'word[1]=cat', 'word=cat', 'word[1]=<s+1>']
    """

    edge_prefix = None

    def __init__(self, encoders: Iterable[Any]) -> None:
        self.parts: list[Any] = [part for encoder in encoders for part in parts_of(encoder)]
        if len({part.kind for part in self.parts}) > 1:
            raise InputError(
                "some models look at columns through templates, others at features of your own; no sequence "
                "is both: train all of them on the same kind of sequences"
            )

    @property
    def kind(self) -> str:
        """The kind of its parts: "free" or "templates"."""
        return str(self.parts[0].kind)

    @property
    def starts(self) -> NDArray[np.int64]:
        """[parts + 1] the first id of each part; last, the number of all."""
        return np.cumsum([0, *(part.n_attributes for part in self.parts)])

    @property
    def n_attributes(self) -> int:
        return int(self.starts[-1])

    @property
    def hash_size(self) -> int | None:
        """That of the parts that hash, if any."""
        return next((part.hash_size for part in self.parts if part.hash_size is not None), None)

    @property
    def edge_bias(self) -> bool:
        return any(part.edge_bias for part in self.parts)

    @property
    def templates(self) -> list[Template]:
        return [template for part in self.parts for template in part.templates]

    @property
    def first_template(self) -> list[int]:
        """[parts] the number of the first template of each."""
        counts = [len(list(part.templates)) for part in self.parts]
        return np.cumsum([0, *counts[:-1]]).tolist()  # type: ignore[no-any-return]

    @property
    def attribute_template(self) -> NDArray[np.int32]:
        """[A] the template of each attribute."""
        shifted = [p.attribute_template + first for p, first in zip(self.parts, self.first_template)]
        return np.concatenate(shifted).astype(np.int32)

    @property
    def gazetteers(self) -> dict[str, Any]:
        """Those of all parts."""
        return {k: v for part in self.parts for k, v in getattr(part, "gazetteers", {}).items()}

    def encode(self, X: Any, *, grow: bool, n_threads: int = 1) -> Encoded:
        """The attributes of every token, those of the first part first."""
        if self.kind == "free" and not isinstance(X, list):
            X = list(X)
        encoded = [part.encode(X, grow=grow, n_threads=n_threads) for part in self.parts]
        lengths = np.stack([np.diff(one.token_ptr) for one in encoded], axis=1)  # [tokens, parts]
        order = np.argsort(_owners(lengths), kind="stable")
        ids = [one.attributes + start for one, start in zip(encoded, self.starts)]
        values = None
        if any(one.values is not None for one in encoded):
            values = np.concatenate([_values(one) for one in encoded])[order]
        ptr = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]).astype(np.int64)
        return Encoded(encoded[0].offsets, ptr, np.concatenate(ids)[order].astype(np.int32), values)

    def attribute_text(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The text of attributes, for display."""
        wanted = np.asarray(list(ids), np.int64)
        owner = np.searchsorted(self.starts, wanted, side="right") - 1
        out = np.empty(len(wanted), object)
        for i, part in enumerate(self.parts):
            mine = owner == i
            out[mine] = part.attribute_text(wanted[mine] - self.starts[i])
        return out.tolist()  # type: ignore[no-any-return]

    def keep(self, ids: NDArray[np.int64]) -> SeveralFeatures:
        """An encoder with only these attributes, which must be sorted, renumbered in this order."""
        bounds = np.searchsorted(ids, self.starts)
        pieces = zip(self.parts, self.starts, bounds, bounds[1:])
        return SeveralFeatures([part.keep(ids[a:b] - start) for part, start, a, b in pieces])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The content of a model file: a dict for JSON, and arrays."""
        settings: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for i, part in enumerate(self.parts):
            described, tables = part.state()
            settings.append(described)
            arrays |= {f"{i}.{name}": array for name, array in tables.items()}
        kinds = [next(k for k, v in KINDS.items() if isinstance(part, v)) for part in self.parts]
        return {"of": kinds if "function" in kinds else self.kind, "parts": settings}, arrays

    def contents(self) -> list[NDArray[Any]]:
        """Arrays that identify it, for a digest."""
        return [array for part in self.parts for array in part.contents()]

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> SeveralFeatures:
        """The encoder from the output of ``state``."""
        parts, of = settings["parts"], settings["of"]
        kinds = [of] * len(parts) if isinstance(of, str) else of
        if not parts or len(kinds) != len(parts):
            raise ValueError("the parts of the features are damaged")
        pairs = enumerate(zip(kinds, parts))
        return cls([KINDS[kind].from_state(part, _under(f"{i}.", arrays)) for i, (kind, part) in pairs])


def parts_of(encoder: Any) -> list[Any]:
    """The encoders that an encoder consists of; itself, if it is one."""
    return list(getattr(encoder, "parts", [encoder]))


def _under(start: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}


def _owners(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """[nnz] the token of each attribute, part by part."""
    tokens = np.arange(len(lengths))
    return np.concatenate([np.repeat(tokens, column) for column in lengths.T])


def _values(encoded: Encoded) -> NDArray[np.float64]:
    return np.ones(len(encoded.attributes)) if encoded.values is None else encoded.values
