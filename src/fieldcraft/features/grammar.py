"""The template language: one template a line.

    line       = [ "columns" name… | "edge" | [ "edge:" ] item { "&" item } ] [ "#" comment ]
    item       = place | function "(" item [ "," argument ] ")"
               | "in" "(" gazetteer "," place ")" | "part" "(" gazetteer "," place ")"
    place      = ( column | "first" | "last" | "bias" ) [ "[" range "]" | "[@" number "]" ]
    argument   = range | "/" regular expression "/"
    range      = number [ ".." number ]

A range denotes several templates, one per number; several ranges in a line denote all their
combinations, the last varying fastest. Names that are no identifiers or are words of the language
stand in double quotes. Hazard: inside a regular expression a slash is written ``\\/``.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from fieldcraft.errors import TemplateError
from fieldcraft.features import terms
from fieldcraft.features.predicates import Argument
from fieldcraft.features.terms import Template, Term

MOST = 1000  # templates of one line
MOST_DIGITS = 9  # of a number, which the core keeps in 32 bits

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<regex>/(?:[^/\\]|\\.)*/)
        |(?P<range>\.\.)|(?P<number>[+-]?\d+)|(?P<mark>[\[\]()&:,@])|(?P<comment>\#.*)|(?P<end>$))""",
    re.VERBOSE,
)


class Line(NamedTuple):
    """What one line says."""

    templates: list[Template]
    edge_bias: bool = False
    columns: list[str] | None = None


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent over one line; methods return one template for each number in the ranges."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.tokens = self._tokens()
        self.next = 0

    def fail(self, rule: str, at: int | None = None) -> TemplateError:
        column = (self.peek.at if at is None else at) + 1
        return TemplateError(f"{self.where}, character {column}: {rule} in {self.text.strip()!r}")

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while not tokens or tokens[-1].kind != "end":
            found = _TOKEN.match(self.text, at)
            if found is None or found.lastgroup is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                raise TemplateError(
                    f"{self.where}, character {at + 1}: cannot read {self.text[at:].strip()!r}; "
                    "a name, a number, a /regular expression/ or one of [ ] ( ) & : , @ goes here"
                )
            kind, at = found.lastgroup, found.end()
            if kind != "comment":
                tokens.append(_Token(kind, found[kind], found.start(kind)))
        return tokens

    @property
    def peek(self) -> _Token:
        return self.tokens[self.next]

    def take(self, kind: str, text: str | None = None, rule: str = "") -> _Token:
        token = self.peek
        if token.kind != kind or (text is not None and token.text != text):
            given = repr(token.text) if token.text else "the end"
            raise self.fail(f"{rule or repr(text or kind)} expected, {given} found")
        self.next += 1
        return token

    def has(self, text: str) -> bool:
        if self.peek.kind in ("name", "mark", "range") and self.peek.text == text:
            self.next += 1
            return True
        return False

    def line(self) -> Line:
        if self.has("columns"):
            return self.columns()
        if self.has("edge"):
            if self.peek.kind == "end":
                return Line([], edge_bias=True)
            self.take("mark", ":", "':' (or nothing, for label pairs alone)")
            return Line([replace(t, part="edge") for t in self.conjunction()])
        if self.has("node"):
            self.take("mark", ":")
        return Line(self.conjunction())

    def columns(self) -> Line:
        names = []
        while self.peek.kind != "end":
            names.append(self.name("a column name"))
        if not names or len(set(names)) != len(names):
            raise self.fail("'columns' takes one or more different names")
        return Line([], columns=names)

    def conjunction(self) -> list[Template]:
        items = [self.item()]
        while self.has("&"):
            items.append(self.item())
        self.take("end", rule="'&' or the end of the line")
        count = math.prod(map(len, items))
        if count > MOST:
            raise self.fail(f"the ranges stand for {count} templates, more than {MOST}", 0)
        return [
            Template(tuple(term for t in combination for term in t.terms)) for combination in product(*items)
        ]

    def name(self, what: str) -> str:
        if self.peek.kind == "quoted":
            return re.sub(r"\\(.)", r"\1", self.take("quoted").text[1:-1])
        return self.take("name", rule=what).text

    def item(self) -> list[Template]:
        following = self.tokens[min(self.next + 1, len(self.tokens) - 1)]
        if self.peek.kind == "name" and following == _Token("mark", "(", following.at):
            return self.call()
        return self.place()

    def call(self) -> list[Template]:
        token = self.take("name")
        self.take("mark", "(")
        if token.text in ("in", "part"):
            return self.membership(positions=token.text == "part")
        inner = self.item()
        arguments = self.arguments() if self.has(",") else [None]
        self.take("mark", ")")
        try:
            return [terms.apply(token.text, t, a) for t, a in product(inner, arguments)]
        except TemplateError as problem:
            raise self.fail(str(problem), token.at) from None

    def membership(self, *, positions: bool) -> list[Template]:
        gazetteer = self.name("the name of a gazetteer")
        self.take("mark", ",")
        at = self.peek.at
        places = self.place()
        self.take("mark", ")")
        try:
            return [terms.gazetteer(gazetteer, t, positions=positions) for t in places]
        except TemplateError as problem:
            raise self.fail(str(problem), at) from None

    def arguments(self) -> list[Argument]:
        if self.peek.kind == "regex":
            return [self.take("regex").text[1:-1]]
        return list(self.range())

    def place(self) -> list[Template]:
        token = self.peek
        name = self.name("a column, a function, first, last or bias")
        term = self.term(name, is_word=token.kind == "name")
        if not self.has("["):
            return [Template((term,))]
        if term.source == "constant":
            raise self.fail("bias has no place")
        absolute = self.has("@")
        offsets = self.range()
        self.take("mark", "]")
        return [Template((replace(term, offset=o, absolute=absolute),)) for o in offsets]

    def term(self, name: str, *, is_word: bool) -> Term:
        sources = {"first": "first", "last": "last", "bias": "constant"}
        if is_word and name in sources:
            return Term(sources[name])
        if is_word and name in terms.RESERVED:
            raise self.fail(f'{name!r} is a word of the language; write a column as "{name}"')
        return Term("column", name)

    def range(self) -> list[int]:
        low = self.number()
        high = self.number() if self.has("..") else low
        if high < low:
            raise self.fail(f"{low}..{high} is empty; write the lower number first")
        if high - low >= MOST:
            raise self.fail(f"{low}..{high} stands for more than {MOST} numbers")
        return list(range(low, high + 1))

    def number(self) -> int:
        token = self.take("number", rule="a number")
        if len(token.text) > MOST_DIGITS:
            raise self.fail(f"a number of more than {MOST_DIGITS} characters", token.at)
        return int(token.text)


def parse_line(text: str, where: str) -> Line:
    """What one line of the language says; an empty line and a comment say nothing."""
    parser = _Parser(text, where)
    try:
        return Line([]) if parser.peek.kind == "end" else parser.line()
    except RecursionError:
        raise TemplateError(f"{where}: functions stand within functions too deep; use fewer") from None
