"""Converts the sequences that users pass to lists of columns.

A sequence is an object with ``.columns`` (a Corpus is a list of them), a dict of columns, or a list
of tokens; a token is a dict, a tuple in the order of the templates' columns, or a plain string
if there is one column. Returns ``columns[c][i]``, the list of strings of column c in sequence i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fieldcraft.corpus.layout import FIRST
from fieldcraft.errors import InputError
from fieldcraft.features.named import NAMED
from fieldcraft.features.templates import Templates
from fieldcraft.spelling import closest

Columns = list[list[list[str]]]


class RowReader:
    """Reads sequences for one set of templates."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.names = templates.named_columns

    def read(self, X: Any) -> Columns:
        """The columns that the templates name, in that order."""
        if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
            raise InputError(
                f"X must be a corpus or a list of sequences, not {type(X).__name__}; "
                "put a single sequence in a list"
            )
        sequences = X if isinstance(X, list) else list(X)
        return self._plain(sequences) or self._any(sequences)

    def takes_dicts(self, X: Any) -> bool:
        """Whether X is a list that begins with a dict of columns: the core may read it as it is."""
        return type(X) is list and bool(X) and type(X[0]) is dict and not self.templates.positional

    def _plain(self, sequences: list[Any]) -> Columns | None:
        """The columns of dicts of lists; None if anything else is there."""
        if self.templates.positional:
            return None
        dicts = [getattr(sequence, "columns", sequence) for sequence in sequences]
        if set(map(type, dicts)) != {dict}:
            return None
        try:
            keys = [_key(name, dicts[0]) for name in self.names]
            columns = [[columns[key] for columns in dicts] for key in keys]
        except KeyError:
            return None
        return columns if all(set(map(type, column)) == {list} for column in columns) else None

    def _any(self, sequences: list[Any]) -> Columns:
        columns: Columns = [[] for _ in self.names]
        for i, sequence in enumerate(sequences):
            for column, words in zip(columns, self._sequence(sequence, i)):
                column.append(words)
        return columns

    def _sequence(self, sequence: Any, i: int) -> list[list[str]]:
        named = getattr(sequence, "columns", sequence)
        if isinstance(named, Mapping):
            return self._from_mapping(named, i)
        if isinstance(sequence, (str, bytes)) or not isinstance(sequence, Iterable):
            raise InputError(
                f"sequence {i}: a sequence is a dict of columns or a list of tokens, "
                f"not {type(sequence).__name__}"
            )
        tokens = sequence if isinstance(sequence, list) else list(sequence)
        return self._from_tokens(tokens, i) if tokens else [[] for _ in self.names]

    def _from_mapping(self, columns: Mapping[Any, Any], i: int) -> list[list[str]]:
        keys = list(columns) if self.templates.positional else []
        read = []
        for name in self.names:
            key = keys[int(name)] if keys and int(name) < len(keys) else _key(name, columns)
            if key not in columns:
                raise _missing(name, i, columns)
            words = columns[key]
            read.append(words if isinstance(words, list) else list(words))
        return read

    def _from_tokens(self, tokens: list[Any], i: int) -> list[list[str]]:
        readers: dict[type, Callable[[list[Any], int], list[list[str]]]] = {
            str: self._from_strings,
            dict: self._from_dicts,
            tuple: self._from_tuples,
            list: self._from_tuples,
        }
        for kind, reader in readers.items():
            if isinstance(tokens[0], kind):
                return reader(tokens, i)
        raise InputError(
            f"sequence {i}, token 0: a token is a string, a tuple or a dict of columns, "
            f"not {type(tokens[0]).__name__}"
        )

    def _from_strings(self, tokens: list[Any], i: int) -> list[list[str]]:
        if len(self.names) != 1:
            raise InputError(
                f"sequence {i}: tokens are plain strings, but the templates look at the columns "
                f"{', '.join(self.names)}; give each token as a tuple or a dict"
            )
        return [tokens]

    def _from_dicts(self, tokens: list[Any], i: int) -> list[list[str]]:
        try:
            return [[token[name] for token in tokens] for name in self.names]
        except (KeyError, TypeError, IndexError):
            t, name = self._first_gap(tokens)
            known = tokens[t] if isinstance(tokens[t], Mapping) else [type(tokens[t]).__name__]
            raise _missing(name, i, known, t) from None

    def _first_gap(self, tokens: list[Any]) -> tuple[int, str]:
        for t, token in enumerate(tokens):
            for name in self.names:
                if not isinstance(token, Mapping) or name not in token:
                    return t, name
        return 0, self.names[0]

    def _from_tuples(self, tokens: list[Any], i: int) -> list[list[str]]:
        positional, columns = self.templates.positional, self.templates.columns
        positions = [int(name) if positional else columns.index(name) for name in self.names]
        width = max(positions) + 1
        exact = not positional and self.templates.declared_columns is None
        for t, token in enumerate(tokens):
            if not isinstance(token, (tuple, list)) or len(token) < width or (exact and len(token) > width):
                raise self._bad_width(token, i, t)
        return [[token[position] for token in tokens] for position in positions]

    def _bad_width(self, token: Any, i: int, t: int) -> InputError:
        given = f"{len(token)} values" if isinstance(token, (tuple, list)) else type(token).__name__
        names = ", ".join(self.templates.columns)
        return InputError(
            f"sequence {i}, token {t}: {given} where a tuple of the columns {names} was expected; "
            "declare the columns of a token with a line 'columns …' in the templates"
        )


def _key(name: str, columns: Mapping[Any, Any]) -> Any:
    """The key of a column; `c0` is the first one."""
    return next(iter(columns), name) if name == FIRST and name not in columns else name


def _missing(name: str, i: int, known: Iterable[Any], t: int | None = None) -> InputError:
    where = f"sequence {i}" if t is None else f"sequence {i}, token {t}"
    meant = closest(name, NAMED, cutoff=0.8)
    hint = "name the columns when reading the corpus (columns=, --columns), or use templates over these"
    if meant:
        hint = f"did you mean the set of templates {meant!r}?"
    return InputError(
        f"{where}: the templates look at column {name!r}, which is not there (given: "
        f"{', '.join(map(str, known))}); "
        f"{hint}"
    )
