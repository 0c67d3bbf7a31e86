"""Which columns are observed, which are labels, and their order in the source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as AbstractSequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from fieldcraft.corpus.sequences import Labels
from fieldcraft.errors import CorpusError

LabelChoice: TypeAlias = "str | int | AbstractSequence[str | int] | None"


_POSITION = re.compile(r"c(0|[1-9][0-9]{0,8})$", re.ASCII)
MOST = 30  # names that a message lists
FIRST = "c0"  # another name of the first column, whatever it is called; c1 of the second, and so on


def default_names(width: int) -> tuple[str, ...]:
    """Names of the columns of a file that gives none.

    >>> default_names(4), default_names(1)
    (('word', 'c1', 'c2', 'label'), ('word',))
    """
    return ("word", *(f"c{i}" for i in range(1, width - 1)), "label")[:width]


class Layout(NamedTuple):
    """`observed` and `labels` are disjoint; `fields` has both in the source's order."""

    fields: tuple[str, ...]
    observed: tuple[str, ...]
    labels: tuple[str, ...]
    several: bool  # whether labels come as a dict, even if it has one entry

    @property
    def label(self) -> str | tuple[str, ...] | None:
        """The label column's name, a tuple of names if `label` had several, or None."""
        if self.several:
            return self.labels
        return self.labels[0] if self.labels else None

    def columns_of(self, values: Mapping[str, list[str]]) -> dict[str, list[str]]:
        return {name: values[name] for name in self.observed}

    def labels_of(self, values: Mapping[str, list[str]]) -> Labels:
        if self.several:
            return {name: values[name] for name in self.labels}
        return values[self.labels[0]] if self.labels else None


def choose(
    available: AbstractSequence[str],
    columns: Iterable[str] | None,
    label: LabelChoice,
    where: str,
    *,
    optional: bool = False,
    remedy: str = "name one of them",
) -> Layout:
    """Split what is available into observed and label columns.

    columns  names to keep (None: all of them); label columns need not be among them
    label    a name, a position, several of these, or None
    where    opens the messages, `file:line`
    optional whether a label column that is named but absent is ignored
    remedy   what to do about a name that is not there
    """
    several = label is not None and not isinstance(label, (str, int))
    asked = () if label is None else (label,) if isinstance(label, (str, int)) else tuple(label)
    kept = available if columns is None else tuple(columns)
    known = set(available)
    if optional:
        absent = {key for key in asked if isinstance(key, str) and key not in known}
        absent -= {key for key in absent if _is_position(key, available)}
        asked = tuple(key for key in asked if key not in absent)
        kept = tuple(key for key in kept if key not in absent)
    labels = tuple(_named(available, known, key, where, "label column", remedy) for key in asked)
    observed = tuple(_named(available, known, key, where, "column", remedy) for key in kept)
    _check_distinct(observed, "columns", where)
    _check_distinct(labels, "label columns", where)
    chosen, labelled = {*observed, *labels}, set(labels)
    fields = tuple(name for name in available if name in chosen)
    return Layout(fields, tuple(n for n in observed if n not in labelled), labels, several)


def _named(
    available: AbstractSequence[str],
    known: AbstractSet[str],
    key: str | int,
    where: str,
    what: str,
    remedy: str,
) -> str:
    if isinstance(key, int):
        if not -len(available) <= key < len(available):
            raise CorpusError(f"{where}: {what} {key} is not one of {len(available)} columns")
        return available[key]
    if _is_position(key, available) and key not in known:
        return available[int(str(key)[1:])]
    if not isinstance(key, str) or key not in known:
        names = ", ".join(map(str, available[:MOST])) + (" …" if len(available) > MOST else "")
        raise CorpusError(f"{where}: {what} {key!r} is not one of {names}; {remedy}")
    return key


def _is_position(key: str | int, available: AbstractSequence[str]) -> bool:
    """Whether a name is c0, c1, …: that of a position."""
    return isinstance(key, str) and bool(_POSITION.match(key)) and int(key[1:]) < len(available)


def _check_distinct(names: tuple[str, ...], what: str, where: str) -> None:
    if len(set(names)) < len(names):
        raise CorpusError(f"{where}: {what} {', '.join(names)}: a name occurs twice; make them differ")
