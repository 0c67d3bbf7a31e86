"""Partial labels in files: a symbol for labels that are unknown, a sign between candidates.

_        nothing is known       None
A|B      one of these           frozenset({"A", "B"})
A        known                  "A"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fieldcraft.errors import CorpusError


class PartialSpelling(NamedTuple):
    """How a file writes labels that are unknown or partly known."""

    unknown: str = "_"
    between: str = "|"

    def check(self) -> PartialSpelling:
        """Returns self; CorpusError if the symbols are unusable."""
        if not (self.unknown and self.between) or self.between in self.unknown:
            raise CorpusError(
                f"unknown={self.unknown!r} and between={self.between!r}; give two different, non-empty texts"
            )
        return self

    def parse(self, labels: Iterable[str]) -> list[Any]:
        """Strings to labels, None and sets.

        >>> PartialSpelling().parse(["A", "_", "A|A"])
        ['A', None, frozenset({'A'})]
        """
        return [self._parsed(t, label) for t, label in enumerate(labels)]

    def _parsed(self, token: int, label: str) -> Any:
        if label == self.unknown:
            return None
        if self.between not in label:
            return label
        candidates = frozenset(label.split(self.between))
        if "" in candidates:
            raise CorpusError(
                f"token {token}: label {label!r} has an empty candidate; write A{self.between}B, or "
                f"{self.unknown} where nothing is known"
            )
        return candidates

    def spell(self, labels: Iterable[Any]) -> list[str]:
        """The reverse of ``parse``; candidates in order.

        >>> PartialSpelling().spell(["A", None, {"B", "A"}])
        ['A', '_', 'A|B']
        """
        return [self._spelled(label) for label in labels]

    def _spelled(self, label: Any) -> str:
        if label is None:
            return self.unknown
        return label if isinstance(label, str) else self.between.join(sorted(label))
