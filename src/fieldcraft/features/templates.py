"""A set of templates, as text and as objects.

    >>> t = Templates.parse("word[-1..1]  # three templates" + chr(10) + "edge")
    >>> t.names
    ['word[-1]', 'word', 'word[1]']
    >>> print(t)
    word[-1]
    word
    word[1]
    edge

``str`` of a set parses back to an equal set. Sets read from files of CRF++ or Wapiti keep their
lines and are positional: column ``"0"`` is the first of the corpus, whatever its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from fieldcraft.errors import TemplateError
from fieldcraft.features.grammar import parse_line
from fieldcraft.features.patterns import looks_like_patterns, read_patterns
from fieldcraft.features.terms import Template, quoted

FORMATS = ("fieldcraft", "crfpp", "wapiti")
MOST = 10_000  # templates of a set; a line with ranges denotes many


class Templates:
    """Templates in order, and whether there are features of label pairs alone (``edge_bias``).

    Parameters
    ----------
    templates : templates, as objects.
    edge_bias : whether the label bigram without observation is a feature.
    columns : the columns of tokens that are tuples, in order; by default those that the templates
        name, in order of first mention.
    format : the language that ``str`` writes: "fieldcraft", "crfpp" or "wapiti".
    """

    def __init__(
        self,
        templates: Iterable[Template],
        *,
        edge_bias: bool = False,
        columns: Iterable[str] | None = None,
        format: str = "fieldcraft",
    ) -> None:
        self._templates = tuple(templates)
        self.edge_bias = edge_bias
        self.declared_columns = None if columns is None else tuple(columns)
        self.format = format

    @classmethod
    def parse(cls, text: str, *, format: str = "fieldcraft", where: str = "templates") -> Templates:
        """Reads a text; ``where`` names it in errors."""
        if format not in FORMATS:
            raise TemplateError(f"no template format is called {format!r}; there are {', '.join(FORMATS)}")
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise TemplateError(f"{where}: the text has a lone surrogate; read it with the right encoding")
        if format != "fieldcraft":
            templates, edge_bias = read_patterns(text, where, format)
            return cls(templates, edge_bias=edge_bias, format=format)
        return cls._from_lines(text.splitlines(), where)

    @classmethod
    def _from_lines(cls, lines: list[str], where: str) -> Templates:
        templates: list[Template] = []
        edge_bias, columns = False, None
        for number, text in enumerate(lines, 1):
            line = parse_line(text, f"{where}:{number}")
            templates.extend(line.templates)
            edge_bias = edge_bias or line.edge_bias
            columns = line.columns or columns
            if len(templates) > MOST:
                raise TemplateError(f"{where}:{number}: more than {MOST} templates; write narrower ranges")
        return cls(templates, edge_bias=edge_bias, columns=columns)._checked(where)

    def _checked(self, where: str) -> Templates:
        lacking = [c for c in self.named_columns if c not in self.columns]
        if lacking:
            raise TemplateError(
                f"{where}: column {lacking[0]!r} is used but not declared; "
                f"add it to the line 'columns {' '.join(map(quoted, self.columns))}'"
            )
        return self

    @classmethod
    def read(cls, path: str | os.PathLike[str], format: str = "auto") -> Templates:
        """Reads a file in this language or one of CRF++ or Wapiti ("auto" detects which)."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise TemplateError(f"{os.fspath(path)}: cannot be read: {problem}") from None
        if format == "auto":
            format = looks_like_patterns(text) or "fieldcraft"
        return cls.parse(text, format=format, where=os.fspath(path))

    @classmethod
    def named(cls, name: str) -> Templates:
        """One of the sets of named.NAMED."""
        from fieldcraft.features.named import NAMED

        if name not in NAMED:
            raise TemplateError(f"no template set is called {name!r}; there are {', '.join(NAMED)}")
        return cls.parse(NAMED[name], where=name)

    @classmethod
    def resolve(cls, given: Any) -> Templates:
        """Templates from an argument: a set, its name, a path, a text or a list."""
        if isinstance(given, Templates):
            return given
        if isinstance(given, os.PathLike):
            return cls.read(given)
        if isinstance(given, str):
            return cls._resolve_text(given)
        if isinstance(given, Iterable):
            return cls._resolve_items(list(given))
        raise TemplateError(f"templates must be a set, a name, a path, a text or a list, not {given!r}")

    @classmethod
    def _resolve_text(cls, text: str) -> Templates:
        from fieldcraft.features.named import NAMED

        if text in NAMED:
            return cls.named(text)
        if "\n" not in text and os.path.isfile(text):
            return cls.read(text)
        try:
            return cls.parse(text, format=looks_like_patterns(text) or "fieldcraft")
        except TemplateError as problem:
            if "\n" in text:
                raise
            raise TemplateError(
                f"{problem}; it is neither a file nor one of the sets {', '.join(NAMED)}"
            ) from None

    @classmethod
    def _resolve_items(cls, items: list[Any]) -> Templates:
        if all(isinstance(i, Template) for i in items):
            return cls(items)
        return cls.parse("\n".join(map(str, items)))

    @property
    def names(self) -> list[str]:
        return [t.name for t in self]

    @property
    def positional(self) -> bool:
        """Whether columns are positions ("0", "1" …) rather than names."""
        return self.format != "fieldcraft"

    @property
    def named_columns(self) -> list[str]:
        """The columns that the templates look at, in order of first mention."""
        return list(self._named_columns)

    @cached_property
    def _named_columns(self) -> tuple[str, ...]:
        terms = [term for template in self for term in template.terms]
        return tuple(dict.fromkeys(t.column for t in terms if t.column))

    @property
    def columns(self) -> list[str]:
        """The columns of tokens that are tuples."""
        return self.named_columns if self.declared_columns is None else list(self.declared_columns)

    @property
    def gazetteers(self) -> list[str]:
        """The names of the gazetteers that the templates use."""
        terms = [term for template in self for term in template.terms]
        return list(dict.fromkeys(t.gazetteer for t in terms if t.gazetteer))

    def __iter__(self) -> Iterator[Template]:
        return iter(self._templates)

    def __len__(self) -> int:
        return len(self._templates)

    def __getitem__(self, index: int) -> Template:
        return self._templates[index]

    def __add__(self, other: Templates) -> Templates:
        """Both sets, one after the other; templates of both occur once."""
        if self.format != other.format:
            raise TemplateError(f"cannot join templates of {self.format} and {other.format}")
        columns = self.declared_columns and tuple(dict.fromkeys((*self.columns, *other.columns)))
        return Templates(
            dict.fromkeys((*self, *other)),
            edge_bias=self.edge_bias or other.edge_bias,
            columns=columns,
            format=self.format,
        )

    def __str__(self) -> str:
        lines = []
        if self.declared_columns is not None:
            lines.append("columns " + " ".join(map(quoted, self.declared_columns)))
        lines += [str(t) for t in self if not (self.positional and t.part == "edge" and str(t)[0] == "*")]
        if self.edge_bias:
            lines.append("B" if self.positional else "edge")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Templates: {len(self)} templates over {', '.join(self.columns)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Templates) and (self.format, str(self)) == (
            other.format,
            str(other),
        )

    def __hash__(self) -> int:
        return hash((self.format, str(self)))
