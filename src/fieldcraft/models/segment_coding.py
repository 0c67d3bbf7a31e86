"""Token labels <-> segments: what the labels of a corpus spell, and how segmentations are spelled.

Labels that form a scheme (IOB, IOBES …) spell spans; the tokens between are segments of type O, of one token
each unless ``max_length`` says otherwise. Without a scheme the runs of a label are its segments. A type whose
segments have at most one token has each token as a segment of its own.

Segments are trained as states, one per token (structures/segments.py), named like the labels of IOB2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.corpus import Span
from fieldcraft.corpus.schemes import OUTSIDE, SCHEMES, detect, is_tag_set, labels_from_spans
from fieldcraft.corpus.schemes import spans as scheme_spans
from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError
from fieldcraft.labels import declared_labels
from fieldcraft.potentials import Parts
from fieldcraft.structures.segments import Segments, SegmentSpace

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
LEAST = 4  # tokens that "auto" allows every type


@dataclass(frozen=True)
class SegmentCoding:
    """How the labels of a model spell segments.

    Parameters
    ----------
    scheme : name of the label scheme; None if runs of labels are segments
    types : names of the types of segments, O among them if there is one
    longest : most tokens of a segment of each type
    classes : the token labels
    """

    scheme: str | None
    types: tuple[str, ...]
    longest: tuple[int, ...]
    classes: tuple[str, ...]

    @classmethod
    def learn(cls, labels: Sequence[Sequence[str]], declared: Any, max_length: Any) -> SegmentCoding:
        """From the labels of the training data, and the parameters ``labels`` and ``max_length``."""
        names = declared_labels(declared, labels)
        scheme = (detect(list(labels)) or "iob2") if is_tag_set(names) else None
        lengths = _longest_seen(labels, scheme)
        if scheme is not None:
            known = {name.partition("-")[2] for name in names if name != OUTSIDE}
            types = sorted(known) + ([OUTSIDE] if OUTSIDE in names else [])
        else:
            types = list(names)
        longest = _resolve(max_length, types, lengths)
        made = cls(scheme, tuple(types), longest, ())
        classes = (
            tuple(dict.fromkeys([*names, *made.spellable()]))
            if declared
            else tuple(sorted({*names, *made.spellable()}))
        )
        return cls(scheme, tuple(types), longest, classes)

    def spellable(self) -> list[str]:
        """The token labels that segmentations can have."""
        if self.scheme is None:
            return list(self.types)
        row, names = SCHEMES[self.scheme], []
        for name, longest in zip(self.types, self.longest):
            if name == OUTSIDE:
                names.append(OUTSIDE)
                continue
            letters = [row.single] + [row.opening, row.closing] * (longest > 1) + [row.inside] * (longest > 2)
            letters += [row.after_same] * bool(row.after_same)
            names += [f"{letter}-{name}" if name else letter for letter in dict.fromkeys(letters)]
        return names

    @cached_property
    def structure(self) -> Segments:
        """The structure, with names for its states."""
        space = SegmentSpace(self.types, self.longest)
        plain = self.scheme is None and max(self.longest) == 1
        names = [
            self.types[x] if plain or (self.types[x] == OUTSIDE and self.longest[x] == 1) else name
            for name, x in zip(space.states, space.type_of)
        ]
        return CodedSegments(space, names, self)

    @property
    def one_to_one(self) -> bool:
        """Whether no two segmentations have the same labels."""
        return self.scheme not in (None, "io") or max(self.longest) == 1

    # -- labels -> states ---------------------------------------------------------------------------

    def segments(self, labels: Sequence[str]) -> list[Span]:
        """The segments that labels spell, which cover all tokens."""
        spans: list[Span] = []
        limit = dict(zip(self.types, self.longest))
        named = (
            scheme_spans(labels)
            if self.scheme is not None
            else [Span(a, b, name) for name, a, b in _runs(labels) if name != OUTSIDE]
        )
        at = 0
        for span in [*named, Span(len(labels), len(labels), "")]:
            if span.start > at:
                spans.append(Span(at, span.start, OUTSIDE))
            if span.end > span.start:
                spans.append(span)
            at = span.end
        if self.scheme is None:
            single = {name for name in {s.label for s in spans} if limit.get(name, 1) == 1}
        else:
            single = {OUTSIDE} if limit.get(OUTSIDE, 1) == 1 else set()
        cut = (_tokens_of(s) if s.label in single else [s] for s in spans)
        return [span for row in cut for span in row]

    def states(self, labels: Sequence[str]) -> list[int] | None:
        """The states of a labelling; None if no segmentation of the model is spelled like that."""
        number, longest = {name: i for i, name in enumerate(self.types)}, self.longest
        later, states = self.structure.space.later, []
        for span in self.segments(labels):
            x = number.get(span.label)
            if x is None or span.end - span.start > longest[x]:
                return None
            states += [x] + [int(later[x])] * (span.end - span.start - 1)
        return states

    def named_states(self, y: Sequence[Sequence[str]]) -> list[list[str]]:
        """The same for the training data, by name; InputError for a segment that is too long."""
        names, out = self.structure.labels, []
        for i, labels in enumerate(y):
            states = self.states(labels)
            if states is None:
                raise self._too_long(i, labels)
            out.append([names[s] for s in states])
        return out

    def _too_long(self, i: int, labels: Sequence[str]) -> InputError:
        limit = dict(zip(self.types, self.longest))
        span = next(s for s in self.segments(labels) if s.end - s.start > limit.get(s.label, 0))
        return InputError(
            f"sequence {i}, tokens {span.start} to {span.end}: a segment {span.label!r} of "
            f"{span.end - span.start} tokens, where max_length allows {limit.get(span.label, 0)}; raise "
            "max_length, or use 'auto'"
        )

    # -- states -> labels ---------------------------------------------------------------------------

    def spans(self, states: NDArray[Any]) -> list[Span]:
        """The segments of one sequence's states."""
        space = self.structure.space
        end, length, kind = space.segments(states, np.array([0, len(states)]))
        return [
            Span(e - d + 1, e + 1, self.types[x])
            for e, d, x in zip(end.tolist(), length.tolist(), kind.tolist())
        ]

    def spell(self, states: NDArray[Any]) -> list[str]:
        """The labels of one sequence's states."""
        if self.scheme is None:
            return [self.types[x] for x in self.structure.space.type_of[states].tolist()]
        if self.scheme == "iob2":
            return [self._iob2[s] for s in states.tolist()]
        inside = [span for span in self.spans(states) if span.label != OUTSIDE]
        return labels_from_spans(inside, len(states), self.scheme)

    @cached_property
    def _iob2(self) -> list[str]:
        """[S] the label of each state in IOB2."""
        space = self.structure.space
        names = [self.types[x] for x in space.type_of]
        letters = ["B"] * space.n_types + ["I"] * (space.n_states - space.n_types)
        return [_tag(letter, name) for letter, name in zip(letters, names)]

    # -- probabilities ------------------------------------------------------------------------------

    def allowed(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """[T, S] the states that each token may have; for labels that several segmentations spell."""
        if self.scheme is not None:
            labels = [name.partition("-")[2] if name != OUTSIDE else OUTSIDE for name in labels]
        number = {name: i for i, name in enumerate(self.types)}
        wanted = np.array([number.get(name, -1) for name in labels])
        return np.asarray(self.structure.space.type_of[None, :] == wanted[:, None])

    def label_marginals(self, marginals: Parts) -> Floats:
        """[tokens, Y] the probability of each token label."""
        space, out = self.structure.space, np.zeros((marginals.n_positions, len(self.classes)))
        number = {name: i for i, name in enumerate(self.classes)}
        letters = _LETTERS[self.scheme or "io"](_Marginals(space, marginals))
        for x, name in enumerate(self.types):
            if self.scheme is None or name == OUTSIDE:
                out[:, number[name]] += _Marginals(space, marginals).token(x)
                continue
            for letter, values in letters(x).items():
                if _tag(letter, name) in number:
                    out[:, number[_tag(letter, name)]] += values
        return out


class CodedSegments(Segments):
    """Segments that know how their labels are spelled."""

    def __init__(self, space: SegmentSpace, names: Sequence[str], coding: SegmentCoding) -> None:
        super().__init__(space, names)
        self.coding = coding


class _Marginals:
    """Probabilities of the positions of segments of one type, [tokens] each."""

    def __init__(self, space: SegmentSpace, marginals: Parts) -> None:
        self.space, self.marginals = space, marginals
        chain = space.chain
        pairs = zip(chain.sources.tolist(), chain.targets.tolist())
        self.step = {pair: e for e, pair in enumerate(pairs)}

    def first(self, x: int) -> Floats:
        return self.marginals["node"][:, x]

    def later(self, x: int) -> Floats:
        state = self.space.later[x]
        return self.marginals["node"][:, state] if state >= 0 else np.zeros(self.marginals.n_positions)

    def token(self, x: int) -> Floats:
        return self.first(x) + self.later(x)

    def ends(self, x: int, *, single: bool) -> Floats:
        """A segment of one token, or the last token of a longer one."""
        a, b = self.space.column[x], self.space.column[x + 1]
        columns = (
            self.marginals["segment"][:, a : a + 1] if single else self.marginals["segment"][:, a + 1 : b]
        )
        return np.asarray(columns.sum(axis=1))

    def goes_on(self, x: int, source: int) -> Floats:
        """A token in this state of type x whose segment does not end with it."""
        steps = self.marginals["edge"][:, self.step[source, int(self.space.later[x])]]
        out = np.append(steps[1:], 0.0)
        ends = self.marginals.offsets[1:] - 1
        out[ends[np.diff(self.marginals.offsets) > 0]] = 0.0
        return out

    def after_same(self, x: int) -> Floats:
        """A first token after a segment of the same type."""
        states = [x] + ([int(self.space.later[x])] if self.space.later[x] >= 0 else [])
        return np.asarray(self.marginals["edge"][:, [self.step[s, x] for s in states]].sum(axis=1))

    def after_others(self, x: int) -> Floats:
        """A first token that is not: at the beginning of the sequence, or after another type."""
        own = {x, int(self.space.later[x])}
        others = [self.step[s, x] for s in range(self.space.n_states) if s not in own]
        out = np.asarray(self.marginals["edge"][:, others].sum(axis=1))
        starts = self.marginals.offsets[:-1][np.diff(self.marginals.offsets) > 0]
        out[starts] = self.marginals["node"][starts, x]
        return out


def _iobes(of: _Marginals, inside: str = "E", single: str = "S") -> Any:
    def letters(x: int) -> dict[str, Floats]:
        found = {single: of.ends(x, single=True), inside: of.ends(x, single=False)}
        if of.space.later[x] >= 0:
            found |= {"B": of.goes_on(x, x), "I": of.goes_on(x, int(of.space.later[x]))}
        return found

    return letters


_LETTERS: dict[str, Any] = {
    "io": lambda of: lambda x: {"I": of.token(x)},
    "iob1": lambda of: lambda x: {"B": of.after_same(x), "I": of.after_others(x) + of.later(x)},
    "iob2": lambda of: lambda x: {"B": of.first(x), "I": of.later(x)},
    "iobes": _iobes,
    "bilou": lambda of: _iobes(of, "L", "U"),
}


def _tag(letter: str, name: str) -> str:
    if name == OUTSIDE:
        return OUTSIDE
    return f"{letter}-{name}" if name else letter


def _tokens_of(span: Span) -> list[Span]:
    """Its tokens as segments of their own."""
    return [Span(t, t + 1, span.label) for t in range(span.start, span.end)]


def _runs(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    runs, at = [], 0
    for name, run in groupby(labels):
        n = len(list(run))
        runs.append((name, at, at + n))
        at += n
    return runs


def _longest_seen(labels: Sequence[Sequence[str]], scheme: str | None) -> dict[str, int]:
    """The longest segment of each type."""
    seen: dict[str, int] = {}
    for row in labels:
        found = [(s.label, s.start, s.end) for s in scheme_spans(row)] if scheme is not None else _runs(row)
        for name, a, b in found:
            seen[name] = max(seen.get(name, 0), b - a)
    return seen


def _resolve(max_length: Any, types: Sequence[str], seen: Mapping[str, int]) -> tuple[int, ...]:
    """Most tokens of a segment of each type."""
    if isinstance(max_length, Mapping):
        unknown = [name for name in max_length if name not in types]
        if unknown:
            raise InputError(f"max_length names the type {unknown[0]!r}; the data has {', '.join(types)}")
        asked = {k: whole_number(v, f"max_length[{k!r}]", 1) for k, v in max_length.items()}
    elif max_length == "auto":
        asked = {}
    elif isinstance(max_length, str):
        raise InputError(f"max_length={max_length!r}; give a number, a dict of numbers per type, or 'auto'")
    else:
        n = whole_number(max_length, "max_length", 1)
        asked = {name: n for name in types if name != OUTSIDE}
    automatic = {name: 1 if name == OUTSIDE else max(2 * seen.get(name, 0), LEAST) for name in types}
    return tuple(asked.get(name, automatic[name]) for name in types)
