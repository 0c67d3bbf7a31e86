"""Messages of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fieldcraft.terminal import visible

UNNAMED = re.compile(r"c[0-9]+$")


def as_options(message: str, options: Iterable[str]) -> str:
    """The message with each argument of Python that is an option here spelled as one.

    >>> as_options("pass encoding='latin-1', or min_count= 2", ["encoding", "min_count"])
    'pass --encoding latin-1, or --min-count 2'
    >>> as_options("give label=['pos', 'chunk'] (or documents=True)", ["label", "documents"])
    'give --label pos,chunk (or --documents)'
    """
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    values = r"'[^' ]*'|\['[^\]]*'\]|True\b|(?=[\w-])"
    pattern = re.compile(rf"(?<![\w.\-'])(?<!\w\()({names})=({values})?") if names else None

    def spelled(match: re.Match[str]) -> str:
        value = match[2]
        option = "--" + match[1].replace("_", "-")
        if value in (None, "True"):
            return option
        return f"{option} {value.strip('[]').replace(', ', ',').replace(chr(39), '')}"

    return pattern.sub(spelled, message) if pattern else message


@contextmanager
def warnings_as_lines(options: Iterable[str]) -> Iterator[None]:
    """The library's warnings as lines on standard error, without the place in the code."""
    names = list(options)

    def show(message: Any, category: Any, *place: Any) -> None:
        if issubclass(category, UserWarning):
            print(f"warning: {visible(as_options(str(message), names))}", file=sys.stderr)
        else:
            shown(message, category, *place)

    with warnings.catch_warnings():
        shown = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def check_columns(corpus: Any, given: str | None) -> None:
    """CorpusError if templates look at columns that are not there; it names the --columns that would do."""
    from fieldcraft.corpus.layout import FIRST
    from fieldcraft.errors import CorpusError
    from fieldcraft.features.named import NAMED
    from fieldcraft.features.templates import Templates
    from fieldcraft.models.default_templates import over_words
    from fieldcraft.spelling import closest

    if given in (None, "none"):
        return
    templates = Templates.resolve(given)
    columns = [name for name in corpus.fields if name not in corpus.label_names]
    if over_words(given, columns) is not None:
        return
    lacking = [name for name in templates.named_columns if name not in (*columns, FIRST)]
    if templates.positional or not lacking or not columns:
        return
    free = [name for name in columns if UNNAMED.match(name) or name not in templates.named_columns]
    meant = closest(lacking[0], NAMED, cutoff=0.8)
    if meant is not None:
        raise CorpusError(f"no column is called {lacking[0]!r}; did you mean --templates {meant}?")
    looks = f"the templates look at {_listed(lacking)}, which {corpus.source} does not have"
    if len(free) < len(lacking) or "form" in columns:  # the columns of CoNLL-U have fixed names
        remedy = f"its columns are {', '.join(corpus.fields)}; use --templates entities-words or tagging"
    else:
        renamed = dict(zip(free, lacking))
        remedy = f"name its columns: --columns {','.join(renamed.get(name, name) for name in corpus.fields)}"
    raise CorpusError(f"{looks}; {remedy}")


def _listed(names: list[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
