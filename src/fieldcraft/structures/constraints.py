"""Constraints on the labels of a sequence, as objects and as text.

    forced 0 B-city            token 0 has this label (or one of several)
    forbidden O I-city         I-city never follows O
    allowed B-city I-city O    after B-city only these labels, or the end
    followed_by B-city I-city  after every B-city comes one of these labels
    at_most 1 city             also at_least and exactly; counts spans of a type, or runs of a label;
                               `at_most 3 city tokens` counts tokens
    implies region city        if a region occurs, so does a city
    excludes po_box street     they do not both occur
    linear <= 0 B-city:1 B-region:-1   a weighted count of tokens

A name is that of a label or, where the labels form a scheme (IOB, IOBES …), of a type of span; see
constrained.py for how constraints are obeyed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError

COUNTED = ("spans", "tokens")
RELATIONS = ("<=", ">=", "==")


@dataclass(frozen=True)
class Constraint:
    """Base class of constraints; ``str`` is the text form."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Forced(Constraint):
    """Token ``token`` has one of ``labels``."""

    kind: ClassVar[str] = "forced"
    token: int
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return f"forced {self.token} {' '.join(self.labels)}"


@dataclass(frozen=True)
class Neighbours(Constraint):
    """What may follow ``label``: none of ``others`` (forbidden), or only these (allowed, followed_by)."""

    kind: str  # type: ignore[misc]  # one class for three kinds
    label: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.label} {' '.join(self.others)}"


@dataclass(frozen=True)
class Count(Constraint):
    """How often something occurs: at least, at most or exactly ``n`` times."""

    kind: str  # type: ignore[misc]
    n: int
    name: str
    of: str | None

    def __str__(self) -> str:
        return f"{self.kind} {self.n} {self.name}" + (f" {self.of}" if self.of else "")


@dataclass(frozen=True)
class Together(Constraint):
    """If ``first`` occurs, ``second`` must (implies) or must not (excludes) occur."""

    kind: str  # type: ignore[misc]
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.kind} {self.first} {self.second}"


@dataclass(frozen=True)
class Linear(Constraint):
    """A weighted count of tokens: sum of coefficient * tokens with the label, compared with a bound."""

    kind: ClassVar[str] = "linear"
    coefficients: tuple[tuple[str, float], ...]
    relation: str
    bound: float

    def __str__(self) -> str:
        terms = " ".join(f"{name}:{value:g}" for name, value in self.coefficients)
        return f"linear {self.relation} {self.bound:g} {terms}"


def forced(token: int, *labels: str) -> Constraint:
    """Token number ``token``, from 0, has this label, or one of several.

    >>> str(forced(0, "B-city"))
    'forced 0 B-city'
    """
    return Forced(whole_number(token, "token", 0), _names("forced", labels))


def forbidden(label: str, *others: str) -> Constraint:
    """None of ``others`` directly follows ``label``.

    >>> str(forbidden("O", "I-city"))
    'forbidden O I-city'
    """
    return Neighbours("forbidden", *_split("forbidden", label, others))


def allowed(label: str, *others: str) -> Constraint:
    """After ``label`` come only ``others``, or the end of the sequence.

    >>> str(allowed("B-city", "I-city", "O"))
    'allowed B-city I-city O'
    """
    return Neighbours("allowed", *_split("allowed", label, others))


def followed_by(label: str, *others: str) -> Constraint:
    """After every ``label`` comes one of ``others``; so the sequence does not end with it.

    >>> str(followed_by("B-city", "I-city"))
    'followed_by B-city I-city'
    """
    return Neighbours("followed_by", *_split("followed_by", label, others))


def at_most(n: int, name: str, *, of: str | None = None) -> Constraint:
    """At most n spans of a type, or runs of a label; with ``of="tokens"`` tokens.

    >>> str(at_most(1, "city"))
    'at_most 1 city'
    """
    return _count("at_most", n, name, of)


def at_least(n: int, name: str, *, of: str | None = None) -> Constraint:
    """At least n spans of a type, or runs of a label; with ``of="tokens"`` tokens.

    >>> str(at_least(2, "B-city", of="tokens"))
    'at_least 2 B-city tokens'
    """
    return _count("at_least", n, name, of)


def exactly(n: int, name: str, *, of: str | None = None) -> Constraint:
    """Exactly n spans of a type, or runs of a label; with ``of="tokens"`` tokens.

    >>> str(exactly(1, "postcode"))
    'exactly 1 postcode'
    """
    return _count("exactly", n, name, of)


def implies(first: str, second: str) -> Constraint:
    """If ``first`` occurs anywhere in the sequence, ``second`` does too.

    >>> str(implies("region", "city"))
    'implies region city'
    """
    return Together("implies", *_names("implies", (first, second)))


def excludes(first: str, second: str) -> Constraint:
    """``first`` and ``second`` do not both occur in a sequence.

    >>> str(excludes("po_box", "street"))
    'excludes po_box street'
    """
    return Together("excludes", *_names("excludes", (first, second)))


def linear(coefficients: Mapping[str, float], relation: str, bound: float) -> Constraint:
    """The sum of coefficient * (tokens with the label) is <=, >= or == a bound.

    >>> str(linear({"B-city": 1, "B-region": -1}, ">=", 0))
    'linear >= 0 B-city:1 B-region:-1'
    """
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise InputError("linear needs a dict of labels and coefficients, e.g. {'B-city': 1}")
    _names("linear", tuple(coefficients))
    if relation not in RELATIONS:
        raise InputError(f"linear: relation {relation!r}; choose one of {', '.join(RELATIONS)}")
    try:
        numbers = [float(value) for value in (*coefficients.values(), bound)]
    except (TypeError, ValueError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise InputError("linear: coefficients and the bound must be finite numbers")
    return Linear(tuple(zip(coefficients, numbers)), relation, numbers[-1])


def parse_constraint(text: str) -> Constraint:
    """A constraint from its text form.

    >>> parse_constraint("at_most 1 city tokens") == at_most(1, "city", of="tokens")
    True
    """
    word, *rest = text.split() or [""]
    try:
        made: Constraint = _PARSERS[word](rest)
        return made
    except KeyError:
        known = ", ".join(_PARSERS)
        raise InputError(f"constraint {text!r}: {word!r} is none of {known}") from None
    except (IndexError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"constraint {text!r} is not complete; e.g. {_EXAMPLES.get(word, '')}") from None


def parse_constraints(lines: Iterable[str], name: str = "constraints") -> list[Constraint]:
    """Constraints from lines of text; what follows # is a comment.

    >>> [str(c) for c in parse_constraints(["at_most 1 city  # one is enough", "", "forbidden O I-city"])]
    ['at_most 1 city', 'forbidden O I-city']
    """
    found = []
    for number, line in enumerate(lines, start=1):
        text = line.split("#", 1)[0].strip()
        if text:
            try:
                found.append(parse_constraint(text))
            except InputError as error:
                raise InputError(f"{name}:{number}: {error}") from None
    return found


def constraint_list(given: Any) -> tuple[Constraint, ...]:
    """Constraints from a list of constraints and texts, or from one of them."""
    items = [given] if isinstance(given, (str, Constraint)) else given
    try:
        listed = list(items)
    except TypeError:
        raise InputError(f"constraints is a {type(given).__name__}; give a list of constraints") from None
    out = []
    for item in listed:
        if not isinstance(item, (str, Constraint)):
            raise InputError(f"{item!r} is no constraint; use fc.at_most(1, 'city') and the like, or a text")
        out.append(parse_constraint(item) if isinstance(item, str) else item)
    return tuple(out)


def _count(kind: str, n: int, name: str, of: str | None) -> Constraint:
    if of is not None and of not in COUNTED:
        raise InputError(f"{kind}: of={of!r}; choose one of {', '.join(COUNTED)}")
    (checked,) = _names(kind, (name,))
    return Count(kind, whole_number(n, f"the number of {kind}", 0), checked, of)


def _split(kind: str, label: str, others: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return _names(kind, (label,))[0], _names(kind, others)


def _names(kind: str, names: tuple[Any, ...]) -> tuple[str, ...]:
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"{kind} needs names of labels, got {names!r}; e.g. {_EXAMPLES[kind]}")
    return names


def _linear_from(words: list[str]) -> Constraint:
    terms = [word.rpartition(":") for word in words[2:]]
    return linear({name: float(value) for name, _, value in terms}, words[0], float(words[1]))


def _count_from(kind: str) -> Any:
    def made(words: list[str]) -> Constraint:
        if len(words) not in (2, 3):
            raise IndexError
        return _count(kind, int(words[0]), words[1], words[2] if len(words) == 3 else None)

    return made


def _pair_from(kind: str) -> Any:
    def made(words: list[str]) -> Constraint:
        first, second = words
        return Together(kind, first, second)

    return made


_EXAMPLES = {
    "forced": "forced 0 B-city",
    "forbidden": "forbidden O I-city",
    "allowed": "allowed B-city I-city O",
    "followed_by": "followed_by B-city I-city",
    "at_least": "at_least 1 city",
    "at_most": "at_most 1 city",
    "exactly": "exactly 1 city",
    "implies": "implies region city",
    "excludes": "excludes po_box street",
    "linear": "linear <= 0 B-city:1 B-region:-1",
}
_PARSERS: dict[str, Any] = {
    "forced": lambda words: forced(int(words[0]), *words[1:]),
    "forbidden": lambda words: forbidden(words[0], *words[1:]),
    "allowed": lambda words: allowed(words[0], *words[1:]),
    "followed_by": lambda words: followed_by(words[0], *words[1:]),
    **{kind: _count_from(kind) for kind in ("at_least", "at_most", "exactly")},
    **{kind: _pair_from(kind) for kind in ("implies", "excludes")},
    "linear": _linear_from,
}
