"""Random text from a grammar: a name in braces is replaced by one of its alternatives.

    {street}   one alternative of the rule `street`, itself expanded
    #  %  @    a digit 0-9, a digit 1-9, a capital letter

A grammar is written as text, `name = alternative | alternative`, and a line that starts with `|`
goes on with the rule above it. An alternative that is written twice is twice as likely. Only
`choice` and `randrange` of a seeded `random.Random` are called; their results are the same in
every version of Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from random import Random
from typing import TypeAlias

Rules: TypeAlias = Mapping[str, tuple[str, ...]]

_PIECES = re.compile(r"\{(\w+)\}|([#%@])")
_PLACEHOLDERS: Mapping[str, Callable[[Random], str]] = {
    "#": lambda rng: str(rng.randrange(10)),
    "%": lambda rng: str(rng.randrange(1, 10)),
    "@": lambda rng: rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ"),
}


def parse_rules(text: str) -> Rules:
    """The rules of a grammar written as text."""
    joined = re.sub(r"\n\s+", " ", text.strip())
    pairs = (line.split(" = ", 1) for line in joined.splitlines())
    return {name: tuple(filter(None, map(str.strip, body.split("|")))) for name, body in pairs}


def expand(text: str, rules: Rules, rng: Random) -> str:
    """Replace every rule name and placeholder in `text`, from left to right."""
    out: list[str] = []
    for literal, rule, placeholder in _split(text):
        out.append(literal)
        if rule:
            out.append(expand(rng.choice(rules[rule]), rules, rng))
        elif placeholder:
            out.append(_PLACEHOLDERS[placeholder](rng))
    return "".join(out)


def labels_of(field: str, n_tokens: int) -> list[str]:
    """IOB2 labels of a field's tokens; O for the empty field."""
    return [f"B-{field}"] + [f"I-{field}"] * (n_tokens - 1) if field else ["O"] * n_tokens


@lru_cache(maxsize=8192)
def _split(text: str) -> tuple[tuple[str, str, str], ...]:
    """Text as (literal, rule, placeholder), of which one of the last two may be filled."""
    pieces = [*_PIECES.split(text), "", ""]  # literal, rule, placeholder, literal, ...
    return tuple((pieces[i], pieces[i + 1] or "", pieces[i + 2] or "") for i in range(0, len(pieces), 3))
