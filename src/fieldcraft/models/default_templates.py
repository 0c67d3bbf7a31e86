"""The templates of a model that was given none and is trained on a corpus of columns.

entities-words   the labels are those of spans (B-PER, I-PER, O)
entities         the same, and there is a column `pos`
tagging          all other labels

The words are the column `word`, else `form` (CoNLL-U) or `token`, else the first one; the set then names that
column instead of `word`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fieldcraft.corpus import Corpus
from fieldcraft.evaluation.metrics import forms_scheme
from fieldcraft.features.named import NAMED
from fieldcraft.features.templates import Templates
from fieldcraft.features.terms import quoted

WITHOUT_PAIRS = ("entities-words", "the model has several label columns")
WORDS = ("word", "form", "token")  # names of the column of words, the first that is there


class Chosen(NamedTuple):
    """A template set, and why it was chosen."""

    name: str
    templates: Templates
    why: str


def default_templates(
    templates: Any, X: Any, labels: Iterable[str], *, spans: bool = False, pairs: bool = True
) -> Chosen | None:
    """The set for a corpus of columns; None where templates are given, or X holds features.

    A set that is given by its name and looks at words alone then looks at the column of words.
    ``spans`` says that the labels are types of spans, ``pairs`` whether templates may look at label pairs.

    >>> corpus = Corpus.from_columns({"word": [["in", "Rome"]]}, [["O", "B-LOC"]])
    >>> default_templates(None, corpus, ["B-LOC", "O"]).name
    'entities-words'
    """
    if not isinstance(X, Corpus):
        return None
    columns = [name for name in X.fields if name not in X.label_names]
    if templates is not None:
        return _renamed(templates, columns)
    if not columns or any(sequence.attributes is not None for sequence in X):
        return None
    word = next((name for name in WORDS if name in columns), columns[0])
    name, why = _set_for(columns, spans or forms_scheme(labels)) if pairs else WITHOUT_PAIRS
    if word != "word":
        why += f"; {word!r} is the column of words"
    return Chosen(name, _over(name, word), f"templates: {name}, since {why}")


def over_words(name: Any, columns: list[str]) -> str | None:
    """The column that a set by name looks at in the place of `word`; None if the columns are its own."""
    word = next((column for column in WORDS if column in columns), "word")
    if not isinstance(name, str) or name not in NAMED or word == "word":
        return None
    return word if Templates.named(name).named_columns == ["word"] else None


def _renamed(templates: Any, columns: list[str]) -> Chosen | None:
    word = over_words(templates, columns)
    if word is None:
        return None
    return Chosen(
        templates, _over(templates, word), f"templates: {templates}; {word!r} is the column of words"
    )


def _set_for(columns: list[str], spans: bool) -> tuple[str, str]:
    if not spans:
        return "tagging", "the labels are not those of spans (B-, I-, O)"
    if "pos" in columns:
        return "entities", "the labels are those of spans and there is a column 'pos'"
    return "entities-words", "the labels are those of spans and there is no column 'pos'"


def _over(name: str, word: str) -> Templates:
    """The set with another column of words."""
    return Templates.parse(re.sub(r"\bword\b", lambda _: quoted(word), NAMED[name]), where=name)
