"""Templates as Python objects: terms, conjunctions, shifts.

A **term** is one value at one offset: a column, perhaps through word functions; membership in a
gazetteer; ``first`` or ``last`` position. A **template** is a conjunction of terms with a label
part: "node" (the label of the token) or "edge" (the previous label and the label).

    >>> from fieldcraft.features.terms import col, lower, suffix, edge
    >>> str(col("word", -1) & suffix(lower(col("word")), 3))
    'word[-1] & suffix(lower(word), 3)'
    >>> str(edge(col("word")).shift(1))
    'edge: word[1]'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fieldcraft.errors import TemplateError
from fieldcraft.features.predicates import PREDICATES, WAPITI_ONLY, Argument

RESERVED = ("first", "last", "bias", "edge", "node", "columns")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*\Z")


def quoted(name: str) -> str:
    """A column or gazetteer name as the language spells it."""
    plain = _PLAIN_NAME.match(name) and name not in RESERVED
    return name if plain else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True)
class Step:
    """One word function with its argument."""

    name: str
    argument: Argument = None

    def __call__(self, word: str) -> str | None:
        return PREDICATES[self.name].call(word, self.argument)

    @property
    def test(self) -> bool:
        return PREDICATES[self.name].test

    def around(self, inner: str) -> str:
        """The spelling of this function applied to what ``inner`` spells."""
        if self.argument is None:
            return f"{self.name}({inner})"
        if isinstance(self.argument, int):
            return f"{self.name}({inner}, {self.argument})"
        return f"{self.name}({inner}, /{escape_slashes(self.argument)}/)"


def escape_slashes(pattern: str) -> str:
    """A regular expression, escaped for use between slashes."""
    return re.sub(r"\\.|/", lambda m: m.group() if len(m.group()) > 1 else r"\/", pattern)


def unescape_slashes(pattern: str) -> str:
    """Undoes ``escape_slashes``; other escape sequences are unchanged."""
    return re.sub(r"\\.", lambda m: "/" if m.group() == r"\/" else m.group(), pattern)


@dataclass(frozen=True)
class Term:
    """One value at one offset. ``source``: column, gazetteer, first, last or constant."""

    source: str
    column: str = ""
    steps: tuple[Step, ...] = ()
    gazetteer: str = ""
    positions: bool = False
    offset: int = 0
    absolute: bool = False

    def __str__(self) -> str:
        position = f"[@{self.offset}]" if self.absolute else f"[{self.offset}]" if self.offset else ""
        if self.source in ("first", "last"):
            return self.source + position
        if self.source == "constant":
            return "bias"
        text = quoted(self.column) + position
        if self.source == "gazetteer":
            return f"{'part' if self.positions else 'in'}({quoted(self.gazetteer)}, {text})"
        for step in self.steps:
            text = step.around(text)
        return text

    @property
    def test(self) -> bool:
        """Whether the term is true or false and has no value to show."""
        if self.source == "gazetteer":
            return not self.positions
        return self.source != "column" or (bool(self.steps) and self.steps[-1].test)

    def evaluate(self, word: str) -> str | None:
        """The steps applied to a word."""
        value: str | None = word
        for step in self.steps:
            if value is None:
                return None
            value = step(value)
        return value


@dataclass(frozen=True)
class Template:
    """A conjunction of terms, and whether it is combined with a label or a pair of labels.

    ``pattern`` contains the literal pieces around the terms if the template is from a file of
    CRF++ or Wapiti; its attributes are then shown as those tools write them.
    """

    terms: tuple[Term, ...]
    part: str = "node"
    pattern: tuple[str, ...] | None = None
    source: str | None = None

    def __and__(self, other: Template) -> Template:
        part = "edge" if "edge" in (self.part, other.part) else "node"
        return Template(self.terms + other.terms, part)

    def shift(self, by: int) -> Template:
        """The same template with all offsets increased by ``by``."""
        return replace(
            self,
            terms=tuple(
                t if t.absolute or t.source == "constant" else replace(t, offset=t.offset + by)
                for t in self.terms
            ),
        )

    @property
    def name(self) -> str:
        return str(self)

    @property
    def window(self) -> tuple[int, int]:
        """The lowest and highest offset that the template looks at."""
        offsets = [0 if t.absolute else t.offset for t in self.terms]
        return min(offsets), max(offsets)

    def __str__(self) -> str:
        if self.source is not None:
            return self.source
        body = " & ".join(map(str, self.terms))
        return f"edge: {body}" if self.part == "edge" else body

    def pieces(self) -> tuple[list[str], list[int]]:
        """How an attribute is shown: literal pieces, and the terms whose values are shown between them.

        Tests have no value to show.
        """
        valued = [i for i, term in enumerate(self.terms) if not term.test]
        if self.pattern is not None:
            return list(self.pattern), list(range(len(self.terms)))
        mark = "\0"
        body = " & ".join(str(term) if term.test else f"{term}={mark}" for term in self.terms)
        return ("edge: " * (self.part == "edge") + body).split(mark), valued


def col(column: str, offset: int = 0) -> Template:
    """The string in a column, ``offset`` tokens to the right."""
    return Template((Term("column", column, offset=offset),))


def apply(name: str, template: Template, argument: Argument = None) -> Template:
    """A word function of predicates.PREDICATES applied to a template of one column."""
    term = template.terms[0]
    if len(template.terms) != 1 or term.source != "column" or term.test:
        raise TemplateError(
            f"{name}({template}): a word function takes one column or the value of another "
            "function; join the results with &"
        )
    step = Step(name, checked_argument(name, argument))
    return replace(template, terms=(replace(term, steps=(*term.steps, step)),))


def checked_argument(name: str, argument: Argument) -> Argument:
    """The argument; TemplateError unless the function takes it."""
    if name not in PREDICATES:
        known = ", ".join(known for known in PREDICATES if known not in WAPITI_ONLY)
        raise TemplateError(f"no word function is called {name!r}; there are {known}")
    wanted = PREDICATES[name].argument
    if wanted == "" and argument is not None:
        raise TemplateError(f"{name} takes a column only, not also {argument!r}")
    if wanted == "length" and not (isinstance(argument, int) and argument > 0):
        raise TemplateError(f"{name} takes a column and a length of 1 or more, not {argument!r}")
    return _checked_regex(name, argument) if wanted == "regex" else argument


def _checked_regex(name: str, argument: Argument) -> str:
    if not isinstance(argument, str) or "\n" in argument:
        raise TemplateError(f"{name} takes a column and a /regular expression/ of one line, not {argument!r}")
    try:
        re.compile(argument)
    except (re.error, OverflowError, RecursionError) as problem:
        raise TemplateError(f"{name}: /{argument}/ is not a regular expression: {problem}") from None
    return unescape_slashes(argument)


def lower(template: Template) -> Template:
    """The column in lower case."""
    return apply("lower", template)


def prefix(template: Template, n: int) -> Template:
    """The first n characters; the whole word where it is shorter."""
    return apply("prefix", template, n)


def suffix(template: Template, n: int) -> Template:
    """The last n characters; the whole word where it is shorter."""
    return apply("suffix", template, n)


def length(template: Template) -> Template:
    """The number of characters."""
    return apply("length", template)


def shape(template: Template) -> Template:
    """The word's shape: ``Xxx-dd``, runs cut to two."""
    return apply("shape", template)


def collins(template: Template) -> Template:
    """Collins' word format: runs cut to one."""
    return apply("collins", template)


def matches(template: Template, pattern: str) -> Template:
    """True where the regular expression matches."""
    return apply("matches", template, pattern)


def gazetteer(name: str, template: Template, *, positions: bool = False) -> Template:
    """Membership of a match in a gazetteer; with ``positions`` as B, I, L or U."""
    term = template.terms[0]
    if len(template.terms) != 1 or term.source != "column" or term.steps or term.absolute:
        raise TemplateError(f"in({name}, {template}): a gazetteer is matched over a plain column")
    member = Term("gazetteer", term.column, (), name, positions, term.offset)
    return replace(template, terms=(member,))


def first() -> Template:
    """True at the first token of a sequence."""
    return Template((Term("first"),))


def last() -> Template:
    """True at the last token of a sequence."""
    return Template((Term("last"),))


def bias() -> Template:
    """True at every token."""
    return Template((Term("constant"),))


def edge(template: Template) -> Template:
    """The same observation, combined with the previous label and the label."""
    return replace(template, part="edge")
