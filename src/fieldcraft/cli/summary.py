"""Output of `train` on standard error: the corpora, warnings about them, progress of training."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import chain
from typing import Any

from fieldcraft.corpus import Corpus, schemes
from fieldcraft.labels import label_names
from fieldcraft.models.progress import Progress
from fieldcraft.optimisers.loop import Record
from fieldcraft.terminal import visible

MOST = 60  # rows of a list that are shown


class Report:
    """A callback of `fit` that reports the progress of one training."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._progress: Progress | None = None

    def corpora(self, train: Corpus, held_out: Corpus | None) -> None:
        """Print sizes and labels of the corpora, and warnings."""
        self._say(_size("read", train))
        if held_out is not None:
            self._say(_size("held out", held_out))
        counts = Counter(label for label in chain.from_iterable(train.labels) if isinstance(label, str))
        self._say(f"{len(label_names(train.labels))} labels:")
        self._list([(f"{n:,}", name) for name, n in counts.most_common()])
        partial = train.n_tokens - sum(counts.values())
        if partial:
            self._say(f"{partial:,} tokens have an unknown label or several candidates")
        for warning in warnings(train, held_out, counts):
            self.warn(warning)

    def begin(self, encoder: Any, index: Any, max_iterations: int) -> None:
        """Print the number of features, by template."""
        names = [template.name for template in encoder.templates]
        counts = Counter(index.template.tolist())
        self._say(f"{len(index):,} features of {index.n_attributes:,} attributes, by template:")
        self._list([(f"{counts[t]:,}", "label pairs" if t < 0 else names[t]) for t in sorted(counts)])
        if not self.quiet:
            self._progress = Progress(max_iterations)

    def __call__(self, record: Record) -> None:
        if self._progress:
            self._progress(record)

    def tell(self, line: str) -> None:
        self._say(line)

    def warn(self, problem: str) -> None:
        """Print a warning, also if all else is quiet."""
        print(f"warning: {visible(problem)}", file=sys.stderr)

    def end(self, reason: str) -> None:
        if self._progress:
            self._progress.end(reason)

    def saved(self, crf: Any, path: str) -> None:
        weights = crf.bit_weights_ if hasattr(crf, "bit_weights_") else crf.weights_
        kept = int((weights != 0).sum())
        self._say(f"wrote {path}: {kept:,} weights, {len(crf.classes_)} labels, {crf.n_iter_} iterations")

    def _list(self, rows: list[tuple[str, str]]) -> None:
        for number, name in rows[:MOST]:
            self._say(f"{number:>12}  {name}")
        if len(rows) > MOST:
            self._say(f"{'':>12}  and {len(rows) - MOST} more")

    def _say(self, line: str) -> None:
        if not self.quiet:
            print(visible(line), file=sys.stderr)


def warnings(train: Corpus, held_out: Corpus | None, counts: Counter[str]) -> list[str]:
    """Warnings about data that is valid but unusual."""
    listed = []
    once = sorted(name for name, n in counts.items() if n == 1)
    if once:
        listed.append(f"seen only once: {_some('label', once)}")
    listed += _ill_formed(train, counts)
    if held_out is not None:
        unseen = sorted(set(label_names(held_out.labels)) - set(label_names(train.labels)))
        if unseen:
            listed.append(f"held out but never trained: {_some('label', unseen)}")
    return [*listed, *_repeated(train, held_out)]


def _ill_formed(train: Corpus, counts: Counter[str]) -> list[str]:
    whole = sum(counts.values()) == train.n_tokens  # no scheme can be checked if labels are unknown
    scheme = schemes.detect(train.labels) if whole and schemes.is_tag_set(counts) else None
    violations = schemes.validate(train.labels, scheme) if scheme else []
    if not violations:
        return []
    first = violations[0]
    return [
        f"{len(violations):,} labels break the scheme {scheme}, the first in sequence {first.sequence}, "
        f"token {first.position}: {first.label} where {first.expected} is expected"
    ]


def _repeated(train: Corpus, held_out: Corpus | None) -> list[str]:
    seen = Counter(map(_content, train))
    again = sum(seen.values()) - len(seen)
    notes = [f"{again:,} of {len(train):,} sequences repeat an earlier one"] if again else []
    leaked = sum(_content(sequence) in seen for sequence in held_out or ())
    if leaked:
        notes.append(f"{leaked:,} of {len(held_out or ()):,} held-out sequences are in the training data too")
    return notes


def _content(sequence: Any) -> int:
    """Equal for sequences with the same tokens and labels."""
    attributes = [tuple(sorted(token.items())) for token in sequence.attributes or ()]
    return hash((*map(tuple, sequence.columns.values()), *attributes, tuple(sequence.label_list())))


def _size(what: str, corpus: Corpus) -> str:
    return f"{what} {corpus.source}: {len(corpus):,} sequences, {corpus.n_tokens:,} tokens"


def _some(what: str, names: list[str]) -> str:
    shown = ", ".join(names[:MOST]) + (" …" if len(names) > MOST else "")
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''} ({shown})"
