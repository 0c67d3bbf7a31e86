"""Label schemes: how spans are spelled as one label per token, and how they are read back.

A label is `O` (outside) or a letter and a type, `B-LOC`. A bare letter is a tag of the empty type.

    scheme   a span of one token   a longer span            next to a span of the same type
    io       I-X                   I-X I-X                  the two run together
    iob1     I-X                   I-X I-X                  the second one opens with B-X
    iob2     B-X                   B-X I-X I-X              no different
    iobes    S-X                   B-X I-X E-X              no different
    bilou    U-X                   B-X I-X L-X              no different

Reading is conlleval's and the same for every scheme: a span opens at a tag that follows `O`, the
border or another type, at the letters B, S, U, and after the letters E, S, L, U; it runs on
otherwise. On well-formed labels this gives each scheme's own spans; on ill-formed ones it never
drops a tag: `O I-X` opens a span in iob2, `B-X O` closes one in iobes. The scheme's name
says which letters are allowed; `conlleval` allows all of them.

Well-formed means: equal to the spelling of the spans that are read, so `validate` is a conversion
and a comparison. It is the same as every pair of neighbours being allowed (`may_follow`), and
`detect` counts the pairs that are not.
Hazard: io cannot spell neighbours of the same type; converting to it joins them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, overload

from fieldcraft.corpus.spans import Span
from fieldcraft.errors import CorpusError

OUTSIDE = "O"
_LETTERS = frozenset("BIESLU")
_OPENING = frozenset("BSU")
_CLOSING = frozenset("ESLU")
Tags: TypeAlias = "Sequence[str] | Sequence[Sequence[str]]"


class Scheme(NamedTuple):
    """The letters that spell a span: its first token, the ones between, its last, its only."""

    name: str
    letters: frozenset[str]
    opening: str
    inside: str
    closing: str
    single: str
    after_same: str  # replaces `opening` and `single` where a span of that type ends just before


class Violation(NamedTuple):
    """Token `position` of sequence `sequence` has `label` where the scheme requires `expected`."""

    sequence: int
    position: int
    label: str
    expected: str


_ROWS = (
    Scheme("io", frozenset("I"), "I", "I", "I", "I", ""),
    Scheme("iob1", frozenset("BI"), "I", "I", "I", "I", "B"),
    Scheme("iob2", frozenset("BI"), "B", "I", "I", "B", ""),
    Scheme("iobes", frozenset("BIES"), "B", "I", "E", "S", ""),
    Scheme("bilou", frozenset("BILU"), "B", "I", "L", "U", ""),
)
SCHEMES = {row.name: row for row in _ROWS}
ALIASES = {"bio": "iob2", "bioes": "iobes", "bioul": "bilou"}


def spans(labels: Sequence[str], scheme: str = "conlleval") -> list[Span]:
    """Read the spans of one sequence.

    >>> spans(["B-LOC", "I-LOC", "O", "I-PER"])
    [Span(start=0, end=2, label='LOC'), Span(start=3, end=4, label='PER')]
    """
    letters = _letters(scheme)
    found: list[Span] = []
    start, open_type, closed = 0, None, False  # open_type: None outside of any span
    for t, label in enumerate(labels):
        letter, type_ = _split(label)
        if letter not in letters and letter != OUTSIDE:
            raise CorpusError(f"token {t}: {_foreign(label, scheme)}")
        if open_type is not None and (closed or type_ != open_type or letter in _OPENING):
            found.append(Span(start, t, open_type))
            open_type = None
        if open_type is None and type_ is not None:
            start, open_type = t, type_
        closed = letter in _CLOSING
    if open_type is not None:
        found.append(Span(start, len(labels), open_type))
    return found


def labels_from_spans(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """Spell spans as `length` labels; they may come in any order but must not overlap.

    >>> labels_from_spans([Span(0, 2, "LOC")], 3, "iobes")
    ['B-LOC', 'E-LOC', 'O']
    """
    row = _scheme(scheme)
    labels = [OUTSIDE] * length
    previous = Span(0, 0, "")
    for span in sorted(map(Span._make, spans)):
        _check_span(span, previous, length)
        touching = span.start == previous.end and span.label == previous.label and previous.end > 0
        labels[span.start : span.end] = _spell(span, row, touching=touching)
        previous = span
    return labels


@overload
def convert(  # type: ignore[overload-overlap]  # a str is a sequence of str too
    labels: Sequence[str], source: str, target: str
) -> list[str]: ...
@overload
def convert(labels: Sequence[Sequence[str]], source: str, target: str) -> list[list[str]]: ...
def convert(labels: Tags, source: str, target: str) -> list[str] | list[list[str]]:
    """Spell the labels of one sequence, or of a list of them, in another scheme.

    `source` says which letters are allowed; `conlleval` takes all of them.

    >>> convert(["I-LOC", "I-LOC", "B-LOC"], "iob1", "iobes")
    ['B-LOC', 'E-LOC', 'S-LOC']
    """
    nested = [_convert(row, source, target, where) for where, row in _rows(labels)]
    return nested if _is_nested(labels) else nested[0]


def validate(labels: Tags, scheme: str) -> list[Violation]:
    """List the tokens that a well-formed spelling would label otherwise.

    >>> validate(["O", "I-LOC"], "iob2")
    [Violation(sequence=0, position=1, label='I-LOC', expected='B-LOC')]
    """
    found = []
    for index, (where, row) in enumerate(_rows(labels)):
        expected = _convert(row, scheme, scheme, where)
        pairs = enumerate(zip(row, expected))
        found += [Violation(index, t, is_, want) for t, (is_, want) in pairs if is_ != want]
    return found


def detect(labels: Tags) -> str | None:
    """Name the scheme whose rules the labels break least often; None if they follow none.

    Labels follow none if one of them is neither O nor a scheme's letter with a type, or if all
    of them are O. Ties go to the first of io, iob1, iob2, iobes, bilou, so that labels
    without a B are io (which reads as iob1).

    >>> detect([["I-LOC", "O"], ["I-PER", "B-PER"]])
    'iob1'
    """
    # a scheme is broken by pairs of neighbours, and there are few distinct ones
    pairs: Counter[tuple[str | None, str | None]] = Counter()
    for _, row in _rows(labels):
        pairs.update(zip([None, *row], [*row, None]))
    names = {name for pair in pairs for name in pair if name is not None}
    return min(_fitting(names), key=lambda scheme: _breaches(pairs, scheme), default=None)


def is_tag_set(names: Iterable[str]) -> bool:
    """Whether a set of label names can be one of the schemes': O and letters with types."""
    return bool(_fitting(names))


def type_of(label: str) -> str | None:
    """The type of a label; None for O.

    >>> type_of("B-LOC"), type_of("O")
    ('LOC', None)
    """
    return _split(label)[1]


def may_follow(previous: str | None, label: str | None, scheme: str) -> bool:
    """Whether `label` may follow `previous`; None is the border of the sequence.

    A sequence is well-formed exactly if all its pairs are allowed, both borders included.

    >>> may_follow("O", "I-LOC", "iob2"), may_follow("B-LOC", "I-LOC", "iob2")
    (False, True)
    """
    pair = [OUTSIDE if name is None else name for name in (previous, label)]
    (letter, type_), (next_letter, next_type) = map(_split, pair)
    for name, tag in zip(pair, (letter, next_letter)):
        if tag != OUTSIDE and tag not in _letters(scheme):
            raise CorpusError(_foreign(name, scheme))
    same = type_ == next_type and type_ is not None
    return _PAIR_RULES[_scheme(scheme).name](letter, next_letter, same)


def _fitting(names: Iterable[str]) -> list[str]:
    """The schemes whose letters are enough for these labels; none if all of them are O."""
    used = {_split(name)[0] for name in names} - {OUTSIDE}
    return [row.name for row in _ROWS if used <= row.letters] if used else []


def _breaches(pairs: Mapping[tuple[str | None, str | None], int], scheme: str) -> int:
    return sum(n for (left, right), n in pairs.items() if not may_follow(left, right, scheme))


def _iobes_pair(letter: str, next_letter: str, same: bool) -> bool:
    goes_on, continues = letter in "BI", next_letter in "IEL"
    return goes_on == continues and (same or not goes_on)


_PAIR_RULES: dict[str, Callable[[str, str, bool], bool]] = {
    "io": lambda _letter, _next_letter, _same: True,
    "iob1": lambda _letter, next_letter, same: next_letter != "B" or same,
    "iob2": lambda _letter, next_letter, same: next_letter != "I" or same,
    "iobes": _iobes_pair,
    "bilou": _iobes_pair,
}


def _convert(labels: Sequence[str], source: str, target: str, where: str) -> list[str]:
    try:
        return labels_from_spans(spans(labels, source), len(labels), target)
    except CorpusError as error:
        raise CorpusError(f"{where}{error}") from None


def _spell(span: Span, row: Scheme, *, touching: bool) -> list[str]:
    size = span.end - span.start
    letters = [row.single] if size == 1 else [row.opening, *row.inside * (size - 2), row.closing]
    if touching and row.after_same:
        letters[0] = row.after_same
    return [_tag(letter, span.label) for letter in letters]


def _tag(letter: str, type_: str) -> str:
    return f"{letter}-{type_}" if type_ else letter


def _is_nested(labels: Tags) -> bool:
    return bool(len(labels)) and not isinstance(labels[0], str)


def _rows(labels: Tags) -> list[tuple[str, Sequence[str]]]:
    """(where, labels) of each sequence; `where` opens a message and is empty for a single one."""
    if _is_nested(labels):
        return [(f"sequence {index}, ", row) for index, row in enumerate(labels)]
    return [("", labels)]  # type: ignore[list-item]  # not nested: a sequence of str


@lru_cache(maxsize=65536)
def _split(label: str) -> tuple[str, str | None]:
    """`B-LOC` -> (B, LOC); `O` -> (O, None); `B` -> (B, the empty type)."""
    letter, dash, type_ = label.partition("-")
    if label == OUTSIDE:
        return OUTSIDE, None
    # a letter O with a type (`O-X`) and a dash without one (`B-`) are not interpreted
    return (letter, type_) if letter != OUTSIDE and bool(dash) == bool(type_) else (label, "")


def _scheme(name: str) -> Scheme:
    key = name.lower()
    key = ALIASES.get(key, key)
    if key not in SCHEMES:
        raise CorpusError(f"scheme {name!r} is unknown; use one of {', '.join(SCHEMES)}")
    return SCHEMES[key]


def _letters(scheme: str) -> frozenset[str]:
    return _LETTERS if scheme == "conlleval" else _scheme(scheme).letters


def _foreign(label: str, scheme: str) -> str:
    letters = " ".join(f"{letter}-" for letter in sorted(_letters(scheme)))
    return f"label {label!r} does not belong to scheme {scheme}; use O or a type behind one of {letters}"


def _check_span(span: Span, previous: Span, length: int) -> None:
    if not 0 <= span.start < span.end <= length:
        raise CorpusError(
            f"{span} does not lie within {length} tokens; positions are half-open, 0 <= start < end <= length"
        )
    if span.start < previous.end:
        raise CorpusError(f"{span} overlaps {previous}; one label per token spells disjoint spans")
