"""Raw text into tokens, each with the characters that it covers.

A rule is a regular expression whose matches are the tokens; what lies between them is blank. Offsets
count characters, half-open: ``text[token.start:token.end] == token.text``, always.

    words        words, numbers and punctuation apart; see word_rule
    whitespace   runs of characters between blanks
    characters   every character but blanks, with the marks that combine with it

A named rule never changes, since models store its name. Tokens are matched from left to
right, once; the named rules take time in proportion to the length of any text.
Hazards: a user's regular expression may take exponential time on hostile text. A model file may have one
too, and Python takes up to a millisecond per character to compile it: expressions of more than 2,000
characters, or with a counted repetition of more than 1,000, are refused when a model is trained, saved or
loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from fieldcraft.corpus.word_rule import character_pattern, word_pattern
from fieldcraft.errors import InputError

MOST_CHARACTERS = 2000  # of a user's expression
MOST_REPEATS = 1000  # in its counted repetitions, {m,n}
_COUNTED = re.compile(r"\\.|\{(\d*)(?:,(\d*))?\}", re.DOTALL)  # or an escaped character, which counts nothing


class Token(NamedTuple):
    """A piece of a text: the characters start .. end-1."""

    text: str
    start: int
    end: int


RULES: Mapping[str, Callable[[], str]] = {
    "words": word_pattern,
    "whitespace": lambda: r"\S+",
    "characters": character_pattern,
}


@dataclass(frozen=True)
class Tokenizer:
    """Cuts text into the matches of a regular expression; empty matches are skipped.

    Parameters
    ----------
    pattern : regular expression of one token; None takes that of the rule called ``name``
    name : a rule ("words", "whitespace", "characters"), or a name for the pattern

    >>> Tokenizer(pattern="[a-z]+")("to be")
    [Token(text='to', start=0, end=2), Token(text='be', start=3, end=5)]
    """

    pattern: str | None = None
    name: str = ""

    def __call__(self, text: str) -> list[Token]:
        """The tokens of a text, in order."""
        if not isinstance(text, str):
            raise InputError(f"a text must be a str; got {type(text).__name__} (decode bytes first)")
        spans = (match.span() for match in _matcher(self).finditer(text))
        return [Token(text[start:end], start, end) for start, end in spans if start < end]

    def to_dict(self) -> dict[str, Any]:
        """JSON values for ``from_dict``."""
        return {"name": self.name, "pattern": self.pattern}

    @classmethod
    def from_dict(cls, described: Any) -> Tokenizer:
        """The tokenizer from the output of ``to_dict``; InputError for anything else."""
        if not isinstance(described, Mapping) or set(described) != {"name", "pattern"}:
            raise InputError(f"a tokenizer is described by its name and its pattern; got {described!r}")
        made = cls(pattern=described["pattern"], name=described["name"])
        _matcher(made)
        return made


def tokenize(text: str, rule: str | Tokenizer = "words") -> list[Token]:
    """The tokens of a text, by a rule with a name or a ``Tokenizer``.

    >>> [token.text for token in tokenize("Dr. No didn't pay $3.50.")]
    ['Dr.', 'No', 'did', "n't", 'pay', '$', '3.50', '.']
    """
    return resolve_tokenizer(rule)(text)


def resolve_tokenizer(given: str | Tokenizer) -> Tokenizer:
    """The tokenizer of a name; InputError if it is unusable."""
    if isinstance(given, str):
        given = Tokenizer(name=given)
    if not isinstance(given, Tokenizer):
        raise InputError(
            f"tokenizer={given!r} is neither a rule ({', '.join(RULES)}) nor a fieldcraft.Tokenizer"
        )
    if given.pattern is None:  # compiled when it is used: that takes a moment
        _check_rule(given.name)
    else:
        _matcher(given)
    return given


def describe_tokenizer(given: str | Tokenizer) -> str | dict[str, Any]:
    """A JSON value for a model file: the name of a rule, or the output of ``to_dict``."""
    tokenizer = resolve_tokenizer(given)
    return tokenizer.name if tokenizer.pattern is None else tokenizer.to_dict()


def restore_tokenizer(described: Any) -> str | Tokenizer:
    """Undoes ``describe_tokenizer``; InputError for anything else."""
    if not isinstance(described, str):
        return Tokenizer.from_dict(described)
    resolve_tokenizer(described)
    return described


def _matcher(tokenizer: Tokenizer) -> re.Pattern[str]:
    pattern, name = tokenizer.pattern, tokenizer.name
    if not isinstance(pattern, (str, type(None))) or not isinstance(name, str):
        raise InputError(f"Tokenizer: pattern and name must be strings; got {pattern!r}, {name!r}")
    return _compiled(pattern, name)


def _check_rule(name: Any) -> None:
    if not isinstance(name, str) or name not in RULES:
        raise InputError(
            f"no tokenizer is called {name!r}; there are {', '.join(RULES)}, or pass Tokenizer(pattern=...)"
        )


@lru_cache(maxsize=64)
def _compiled(pattern: str | None, name: str) -> re.Pattern[str]:
    if pattern is None:
        _check_rule(name)
        return re.compile(RULES[name]())
    if name in RULES:
        raise InputError(f"Tokenizer: {name!r} is the name of a rule; give your pattern another")
    _check_size(pattern)
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as problem:
        raise InputError(f"Tokenizer: {pattern!r} is not a regular expression: {problem}") from None


def _check_size(pattern: str) -> None:
    """Raise an InputError for an expression that could take long to compile."""
    if len(pattern) > MOST_CHARACTERS:
        raise InputError(
            f"Tokenizer: the pattern has {len(pattern):,} characters; at most {MOST_CHARACTERS:,} are "
            "allowed: shorten it, or cut the text before and give lists of words"
        )
    for found in _COUNTED.finditer(pattern):
        numbers = [number for number in found.groups() if number]
        if any(len(number) > 9 or int(number) > MOST_REPEATS for number in numbers):
            raise InputError(
                f"Tokenizer: the pattern has the repetition {found[0]}; at most {MOST_REPEATS:,} are "
                "allowed: use a smaller number, or * or +"
            )
