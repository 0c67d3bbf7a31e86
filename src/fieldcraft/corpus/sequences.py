"""One sequence: columns of strings, one entry per token, and its labels if they are known.

Layout: one list of strings per column, all of one length T, so that native code interns
`[sequence.columns[name] for sequence in corpus]` without building a token object.
Hazard: the constructor only stores; `check` compares the lengths, and every reader and
`Corpus.from_...` calls it or ensures equal lengths otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fieldcraft.corpus import schemes
from fieldcraft.corpus.spans import Span
from fieldcraft.errors import CorpusError

Labels: TypeAlias = "list[str] | dict[str, list[str]] | None"


@dataclass(slots=True)
class Sequence:
    """Tokens in columns, with labels.

    columns     name -> one string per token (what is observed)
    labels      one string per token; name -> such a list if there are several label columns;
                None if they are unknown
    attributes  name -> value for each token, from attribute files; None otherwise
    weight      how much the sequence counts in training
    info        what the source says of the whole sequence (an id, comments); None if nothing

    >>> Sequence({"word": ["in", "New", "York"]}, ["O", "B-LOC", "I-LOC"]).spans()
    [Span(start=1, end=3, label='LOC')]
    """

    columns: dict[str, list[str]]
    labels: Labels = None
    attributes: list[dict[str, float]] | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)
    info: dict[str, Any] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        for column in self.columns.values():
            return len(column)
        if self.attributes is not None:
            return len(self.attributes)
        return next((len(column) for column in self.label_columns().values()), 0)

    def _repr_html_(self) -> str:
        from fieldcraft.corpus.notebooks import sequence_html

        return sequence_html(self)

    def label_columns(self, name: str = "label") -> dict[str, list[str]]:
        """Label columns by name; a single one, which has no name, gets `name`."""
        if self.labels is None:
            return {}
        return self.labels if isinstance(self.labels, dict) else {name: self.labels}

    def label_list(self, name: str | None = None) -> list[str]:
        """The labels of one column; `name` is needed only where there are several."""
        if self.labels is None:
            raise CorpusError("the sequence has no labels; read the corpus with label=")
        if not isinstance(self.labels, dict):
            return self.labels
        if name not in self.labels:
            known = ", ".join(self.labels)
            raise CorpusError(f"label column {name!r} is not one of {known}; name one of them")
        return self.labels[name]

    def spans(self, scheme: str = "conlleval", *, label: str | None = None) -> list[Span]:
        """The spans that the labels spell out; see `fieldcraft.corpus.schemes`."""
        return schemes.spans(self.label_list(label), scheme)

    def check(self, where: str = "sequence") -> Sequence:
        """Returns self; CorpusError names a column whose length differs from the first."""
        sizes = {name: len(column) for name, column in self.columns.items()}
        if self.attributes is not None:
            sizes["attributes"] = len(self.attributes)
        sizes.update((name, len(column)) for name, column in self.label_columns().items())
        for name, size in sizes.items():
            if size != len(self):
                raise CorpusError(
                    f"{where}: column {name!r} has {size} tokens where {len(self)} were "
                    "expected; give every column one entry per token"
                )
        return self
