"""Output of `train` on standard error: the corpora, warnings about them, progress of training."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import chain
from typing import Any

from fieldcraft.corpus import Corpus, schemes
from fieldcraft.distributed import Ranks
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

    def corpora(
        self,
        train: Corpus,
        held_out: Corpus | None,
        ranks: Ranks | None = None,
        snapshot: str | None = None,
    ) -> None:
        """Print sizes and labels of the corpora, and warnings; ``train`` is the part of this rank."""
        if ranks is not None:
            self._parts(train, held_out, ranks)
            self._say(f"snapshots of the training go to {snapshot}; go on from there with --resume")
            return
        self._say(_size("read", train))
        if held_out is not None:
            self._say(_size("held out", held_out))
        if len(train.label_names) > 1:
            self._columns(train)
            return
        counts = _counts(train)
        self._labels(label_names(train.labels), counts, train.n_tokens)
        for warning in warnings(train, held_out, counts):
            self.warn(warning)

    def _parts(self, train: Corpus, held_out: Corpus | None, ranks: Ranks) -> None:
        """The same for a corpus of which each rank has a part; repeated sequences are not looked for."""
        own = len(train), train.n_tokens, _counts(train), label_names(train.labels)
        sequences, tokens, counted, known = map(list, zip(*ranks.gather(own)))
        each = f"{min(tokens):,} to {max(tokens):,} tokens on each of {ranks.size} ranks"
        self._say(f"read {train.source}: {sum(sequences):,} sequences, {sum(tokens):,} tokens; {each}")
        if held_out is not None:
            self._say(_size("held out", held_out))
        counts: Counter[str] = sum(counted, Counter())
        names = sorted(set(chain.from_iterable(known)))
        self._labels(names, counts, sum(tokens))
        for warning in _strange_labels(names, held_out, counts):
            self.warn(warning)

    def _columns(self, train: Corpus) -> None:
        """The labels of several columns."""
        for name in train.label_names:
            counts = Counter(label for row in train.labels for label in row[name] if isinstance(label, str))
            self._say(f"column {name}:")
            self._labels(sorted(counts), counts, train.n_tokens)

    def _labels(self, names: list[str], counts: Counter[str], n_tokens: int) -> None:
        self._say(f"{len(names)} labels:")
        self._list([(f"{n:,}", name) for name, n in counts.most_common()])
        partial = n_tokens - sum(counts.values())
        if partial:
            self._say(f"{partial:,} tokens have an unknown label or several candidates")

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
        self._say(f"wrote {path}: {kept:,} weights, {_n_labels(crf)} labels, {crf.n_iter_} iterations")

    def _list(self, rows: list[tuple[str, str]]) -> None:
        for number, name in rows[:MOST]:
            self._say(f"{number:>12}  {name}")
        if len(rows) > MOST:
            self._say(f"{'':>12}  and {len(rows) - MOST} more")

    def _say(self, line: str) -> None:
        if not self.quiet:
            print(visible(line), file=sys.stderr)


def _n_labels(crf: Any) -> int:
    """How many labels a model has, of all columns."""
    known = crf.classes_
    return sum(map(len, known.values())) if isinstance(known, dict) else len(known)


def warnings(train: Corpus, held_out: Corpus | None, counts: Counter[str]) -> list[str]:
    """Warnings about data that is valid but unusual."""
    strange = _strange_labels(label_names(train.labels), held_out, counts)
    return [*strange, *_ill_formed(train, counts), *_repeated(train, held_out)]


def _strange_labels(names: list[str], held_out: Corpus | None, counts: Counter[str]) -> list[str]:
    once = sorted(name for name, n in counts.items() if n == 1)
    listed = [f"seen only once: {_some('label', once)}"] if once else []
    unseen = sorted(set(label_names(held_out.labels if held_out is not None else [])) - set(names))
    return [*listed, *([f"held out but never trained: {_some('label', unseen)}"] if unseen else [])]


def _counts(train: Corpus) -> Counter[str]:
    return Counter(label for label in chain.from_iterable(train.labels) if isinstance(label, str))


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
