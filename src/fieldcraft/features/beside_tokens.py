"""What encoders share that look at tokens and at something beside them, pairs of tokens or segments.

Their first attributes are those of an encoder of tokens, which also answers for the kind of features that X
holds; a model file has its content under names that begin with ``tokens.``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fieldcraft.errors import ModelFileError
from fieldcraft.features.extraction import TemplateFeatures
from fieldcraft.features.several import SeveralFeatures
from fieldcraft.features.user_features import FreeFeatures

if TYPE_CHECKING:
    from typing_extensions import Self

Arrays = dict[str, NDArray[Any]]
KINDS: dict[str, Any] = {
    "free": FreeFeatures,
    "templates": TemplateFeatures,
    "several": SeveralFeatures,
}


class BesideTokens:
    """An encoder with an encoder of tokens, ``tokens``."""

    tokens: Any

    @property
    def kind(self) -> str:
        return str(self.tokens.kind)

    @property
    def hash_size(self) -> int | None:
        return self.tokens.hash_size  # type: ignore[no-any-return]

    @property
    def edge_bias(self) -> bool:
        return bool(self.tokens.edge_bias)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The content of a model file: a dict for JSON, and arrays; here that of tokens."""
        described, tables = self.tokens.state()
        of = next(name for name, kind in KINDS.items() if isinstance(self.tokens, kind))
        return {"of": of, "tokens": described}, named("tokens.", tables)

    def contents(self) -> list[NDArray[Any]]:
        """Arrays that identify it, for a digest."""
        return list(self.state()[1].values())

    @classmethod
    def from_state(cls, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The features from the output of ``state``; ModelFileError if the arrays do not fit."""
        try:
            tokens = KINDS[settings["of"]].from_state(settings["tokens"], under("tokens.", arrays))
            return cls.restored(tokens, settings, arrays)
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise ModelFileError(f"the features in the model file are damaged: {problem}") from None

    @classmethod
    def restored(cls, tokens: Any, settings: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The features with this encoder of tokens; errors of any kind if something does not fit."""
        raise NotImplementedError


def named(start: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays under names that begin so."""
    return {f"{start}{name}": array for name, array in arrays.items()}


def under(start: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Undo ``named``."""
    return {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
