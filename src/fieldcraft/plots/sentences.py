"""A labelled sentence: spans in colour, gold against predicted, with probabilities; as HTML and as text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fieldcraft import markup
from fieldcraft.corpus import schemes
from fieldcraft.corpus.spans import Span
from fieldcraft.errors import InputError
from fieldcraft.evaluation.metrics import forms_scheme
from fieldcraft.replacing import replace_text
from fieldcraft.terminal import visible

Marked = list[tuple[Span, float | None]]


@dataclass(frozen=True)
class LabelledText:
    """Words with their spans; notebooks show it in colour, ``print`` as text.

    words : of the sentence
    predicted : spans with their probabilities (None where unknown)
    gold : the right spans; None if they are unknown
    """

    words: list[str]
    predicted: Marked
    gold: Marked | None = None

    @property
    def wrong(self) -> set[Span]:
        """Predicted spans that are not gold."""
        return set() if self.gold is None else _spans(self.predicted) - _spans(self.gold)

    @property
    def missed(self) -> set[Span]:
        """Gold spans that were not predicted."""
        return set() if self.gold is None else _spans(self.gold) - _spans(self.predicted)

    def __str__(self) -> str:
        lines = [] if self.gold is None else [f"gold       {_line(self.words, self.gold, self.missed)}"]
        side = "predicted  " if self.gold is not None else ""
        return "\n".join([*lines, side + _line(self.words, self.predicted, self.wrong)])

    def _repr_html_(self) -> str:
        colours: dict[str, int] = {}
        rows = []
        if self.gold is not None:
            rows.append(_row(self.words, self.gold, colours, self.missed, "gold"))
        side = "" if self.gold is None else "predicted"
        rows.append(_row(self.words, self.predicted, colours, self.wrong, side))
        return markup.fragment(*rows)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A self-contained HTML page; also written to ``path`` unless that is None."""
        text = markup.page("labelled text", self._repr_html_())
        if path is not None:
            replace_text(path, text)
        return text


def labelled_text(words: Sequence[str], predicted: Any, gold: Any = None) -> LabelledText:
    """Show a labelled sentence.

    Parameters
    ----------
    words : its words
    predicted : a label for each word; or spans, alone or with a probability each (``predict_spans``)
    gold : the right labels or spans; what differs is marked

    >>> print(labelled_text(["in", "New", "York"], ["O", "B-LOC", "I-LOC"], ["O", "O", "B-LOC"]))
    gold       in New [York LOC ✗]
    predicted  in [New York LOC ✗]
    """
    listed = [str(word) for word in words]
    right = None if gold is None else _marked(gold, len(listed), "gold")
    return LabelledText(listed, _marked(predicted, len(listed), "predicted"), right)


def _marked(given: Any, length: int, side: str) -> Marked:
    rows = list(given)
    if rows and all(isinstance(row, str) for row in rows):
        if len(rows) != length:
            raise InputError(f"{side}: {len(rows)} labels for {length} words; give one for each")
        if forms_scheme(rows):
            return [(span, None) for span in schemes.spans(rows)]
        return [(Span(i, i + 1, label), None) for i, label in enumerate(rows) if label != "O"]
    marked: Marked = []
    for row in rows:
        pair = (row, None) if len(row) == 3 else row
        span = Span(*pair[0])
        if not 0 <= span.start < span.end <= length:
            raise InputError(f"{side}: {span} does not fit {length} words")
        marked.append((span, None if pair[1] is None else float(pair[1])))
    marked.sort()
    for (before, _), (after, _) in zip(marked, marked[1:]):
        if after.start < before.end:
            raise InputError(f"{side}: {before} and {after} overlap; show one of them")
    return marked


def _spans(marked: Marked) -> set[Span]:
    return {span for span, _ in marked}


def _note(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.2f}"


def _row(words: list[str], marked: Marked, colours: dict[str, int], wrong: set[Span], side: str) -> str:
    spans = [(*span, _note(p)) for span, p in marked]
    return markup.marked(words, spans, colours, wrong=wrong, side=side)


def _line(words: list[str], marked: Marked, wrong: set[Span]) -> str:
    parts, at = [], 0
    for span, p in marked:
        parts += words[at : span.start]
        note = [span.label, _note(p), "\N{BALLOT X}" if span in wrong else ""]
        parts.append("[" + " ".join([*words[span.start : span.end], *filter(None, note)]) + "]")
        at = span.end
    return visible(" ".join([*parts, *words[at:]]))
