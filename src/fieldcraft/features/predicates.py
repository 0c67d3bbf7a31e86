"""Word functions: from a string to a value, or to None.

A *value* function (``lower``, ``suffix`` …) always returns a string; a *test* (``is_title`` …) returns
``""`` if it is true and None otherwise, and None makes no attribute. Upper, lower and digit mean
what ``str.isupper``, ``str.islower`` and ``str.isdigit`` say of a character.

native/orthography.cpp implements each function for ASCII strings, except those that take a
regular expression; a test checks that both agree. The functions here are the definition.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

Argument = int | str | None
WordFunction = Callable[[str, Argument], "str | None"]

_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)?(\.\d+)?")
_ACRONYM = re.compile(r"(\w\.){2,}|\w{2,}")
_RUNS = re.compile(r"(.)\1+", re.DOTALL)


class Predicate(NamedTuple):
    """A word function: its argument besides the word, and whether it is a test."""

    call: WordFunction
    argument: str  # "" | "length" | "regex"
    test: bool


def _is_punctuation(c: str) -> bool:
    return c in string.punctuation if c.isascii() else unicodedata.category(c).startswith("P")


def _contains_digit(w: str) -> bool:
    return any(c.isdigit() for c in w)


def _contains_upper(w: str) -> bool:
    return any(map(str.isupper, w))


def _is_number(w: str) -> bool:
    return _contains_digit(w) and _NUMBER.fullmatch(w) is not None


def _is_alphanumeric(w: str) -> bool:
    """Letters and digits, both of them, and nothing else."""
    return w.isalnum() and _contains_digit(w) and any(c.isalpha() for c in w)


def _is_roman(w: str) -> bool:
    return w != "" and all(c in "IVXLCDM" for c in w)


def _is_mixed(w: str) -> bool:
    return _contains_upper(w) and any(map(str.islower, w))


def _is_initial(w: str) -> bool:
    return len(w) == 2 and w[0].isupper() and w[1] == "."


def _is_acronym(w: str) -> bool:
    """``ABC`` or ``A.B.C.``, two capitals or more."""
    capitals = w.replace(".", "")
    return all(map(str.isupper, capitals)) and _ACRONYM.fullmatch(w) is not None


def _symbols(w: str, upper: str, lower: str, digit: str) -> str:
    return "".join(upper if c.isupper() else lower if c.islower() else digit if c.isdigit() else c for c in w)


def shape(w: str) -> str:
    """``X`` upper, ``x`` lower, ``d`` digit, others themselves; runs of a symbol keep two of it."""
    return _RUNS.sub(r"\1\1", _symbols(w, "X", "x", "d"))


def collins(w: str) -> str:
    """Collins' format: ``Hello`` -> ``Aa``, ``A.B.C.`` -> ``A.A.A.``, ``1,234.5`` -> ``0,0.0``."""
    return _RUNS.sub(r"\1", _symbols(w, "A", "a", "0"))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@lru_cache(maxsize=256)
def _compiled_bytes(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


def _suffix(w: str, n: Argument) -> str:
    return w[max(len(w) - int(n or 0), 0) :]


def _extract(w: str, pattern: Argument) -> str | None:
    found = _compiled(str(pattern)).search(w)
    return found.group(0) if found else None


def _in_bytes(w: str, pattern: Argument) -> str | None:
    """The match among the bytes of a word, as Wapiti finds it; parts of characters are shown as \\xNN."""
    found = _compiled_bytes(str(pattern).encode()).search(w.encode())
    return found.group(0).decode("utf-8", "backslashreplace") if found else None


def _test(holds: Callable[[str], bool]) -> Predicate:
    return Predicate(lambda w, _: "" if holds(w) else None, "", test=True)


def _value(call: Callable[[str], str]) -> Predicate:
    return Predicate(lambda w, _: call(w), "", test=False)


PREDICATES: dict[str, Predicate] = {
    "lower": _value(str.lower),
    "prefix": Predicate(lambda w, n: w[: int(n or 0)], "length", test=False),
    "suffix": Predicate(_suffix, "length", test=False),
    "length": _value(lambda w: str(len(w))),
    "shape": _value(shape),
    "collins": _value(collins),
    "contains_digit": _test(_contains_digit),
    "contains_upper": _test(_contains_upper),
    "contains_hyphen": _test(lambda w: "-" in w),
    "contains_period": _test(lambda w: "." in w),
    "contains_punctuation": _test(lambda w: any(map(_is_punctuation, w))),
    "is_digits": _test(str.isdigit),
    "is_number": _test(_is_number),
    "is_alphanumeric": _test(_is_alphanumeric),
    "is_roman": _test(_is_roman),
    "is_upper": _test(str.isupper),
    "is_lower": _test(str.islower),
    "is_mixed": _test(_is_mixed),
    "is_title": _test(str.istitle),
    "is_capitalised": _test(lambda w: w[:1].isupper()),
    "is_initial": _test(_is_initial),
    "is_acronym": _test(_is_acronym),
    "matches": Predicate(lambda w, p: None if _extract(w, p) is None else "", "regex", test=True),
    "extract": Predicate(_extract, "regex", test=False),
    # Wapiti's %t and %m: a value for every word, also outside the sequence.
    "truth": Predicate(lambda w, p: "false" if _in_bytes(w, p) is None else "true", "regex", test=False),
    "extract_or_empty": Predicate(lambda w, p: _in_bytes(w, p) or "", "regex", test=False),
    "lower_ascii": _value(lambda w: w.encode().lower().decode()),
}

WAPITI_ONLY = ("truth", "extract_or_empty", "lower_ascii")
ORTHOGRAPHIC = tuple(name for name, p in PREDICATES.items() if p.test and p.argument == "")
