"""Corpora and sequences as notebooks show them: words in a line, spans and labels in colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from fieldcraft import markup
from fieldcraft.corpus import schemes

if TYPE_CHECKING:
    from fieldcraft.corpus.collection import Corpus
    from fieldcraft.corpus.sequences import Sequence

FEW = 5  # sequences of a corpus
MANY = 60  # tokens of a sequence
MOST_LABELS = 12  # that are counted


def sequence_html(sequence: Sequence) -> str:
    """The words with their labels, then all columns in a folded table."""
    names = {label for rows in sequence.label_columns().values() for label in rows}
    columns = {**sequence.columns, **sequence.label_columns()}
    rows = [[str(i), *cells] for i, cells in enumerate(zip(*columns.values()))][:MANY]
    table = markup.table(["", *columns], rows, left=len(columns) + 1)
    more = f" (the first {MANY} of {len(sequence)} tokens)" if len(sequence) > MANY else ""
    folded = f"<details><summary>columns{more}</summary>{table}</details>"
    return markup.fragment(*_lines(sequence, {}, spans=is_scheme(names)), folded)


def corpus_html(corpus: Corpus) -> str:
    """Sizes, labels by number, and the first sequences."""
    facts = f"{len(corpus):,} sequences, {corpus.n_tokens:,} tokens; columns {', '.join(corpus.column_names)}"
    source = [markup.paragraph(f"from {corpus.source}")] if corpus.source else []
    counts = Counter(
        label
        for sequence in corpus
        for label in chain.from_iterable(sequence.label_columns().values())
        if isinstance(label, str)
    )
    spans = is_scheme(counts)
    listed = ", ".join(f"{label} {n:,}" for label, n in counts.most_common(MOST_LABELS))
    rest = f" and {len(counts) - MOST_LABELS} more" if len(counts) > MOST_LABELS else ""
    labels = [markup.paragraph(f"labels: {listed}{rest}")] if counts else []
    colours: dict[str, int] = {}
    lines = chain.from_iterable(_lines(sequence, colours, spans=spans) for sequence in corpus[:FEW])
    more = [markup.paragraph(f"and {len(corpus) - FEW:,} more")] if len(corpus) > FEW else []
    return markup.fragment(markup.paragraph(facts), *source, *labels, *lines, *more)


def is_scheme(names: Iterable[str]) -> bool:
    """Whether labels spell spans, as IOB2 does."""
    known = {name for name in names if isinstance(name, str)}
    return any("-" in name for name in known) and schemes.is_tag_set(known)


def _lines(sequence: Sequence, colours: dict[str, int], *, spans: bool) -> list[str]:
    """A line of marked words for each label column, or one without marks."""
    words = _words(sequence)[:MANY]
    ellipsis = ["\N{HORIZONTAL ELLIPSIS}"] if len(sequence) > MANY else []
    lines = []
    for name, labels in (sequence.label_columns(name="") or {"": []}).items():
        shown = [label if isinstance(label, str) else "?" for label in labels[:MANY]]
        if spans:
            marks = [
                (*span, "") for span in schemes.spans([label if label != "?" else "O" for label in shown])
            ]
        else:
            marks = [(i, i + 1, label, "") for i, label in enumerate(shown) if label != "O"]
        lines.append(markup.marked([*words, *ellipsis], marks, colours, side=name))
    return lines


def _words(sequence: Sequence) -> list[str]:
    columns = sequence.columns
    if columns:
        return list(columns["word"] if "word" in columns else next(iter(columns.values())))
    return [" ".join(map(str, attributes)) for attributes in sequence.attributes or ()]
