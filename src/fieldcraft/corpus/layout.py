"""Which columns are observed, which are labels, and their order in the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as AbstractSequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from fieldcraft.corpus.sequences import Labels
from fieldcraft.errors import CorpusError

LabelChoice: TypeAlias = "str | int | AbstractSequence[str | int] | None"


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
) -> Layout:
    """Split what is available into observed and label columns.

    columns  names to keep (None: all of them); label columns need not be among them
    label    a name, a position, several of these, or None
    where    opens the messages, `file:line`
    optional whether a label column that is named but absent is ignored
    """
    several = label is not None and not isinstance(label, (str, int))
    asked = () if label is None else (label,) if isinstance(label, (str, int)) else tuple(label)
    kept = available if columns is None else tuple(columns)
    known = set(available)
    if optional:
        absent = {key for key in asked if isinstance(key, str) and key not in known}
        asked = tuple(key for key in asked if key not in absent)
        kept = tuple(key for key in kept if key not in absent)
    labels = tuple(_named(available, known, key, where, "label column") for key in asked)
    observed = tuple(_named(available, known, key, where, "column") for key in kept)
    _check_distinct(observed, "columns", where)
    _check_distinct(labels, "label columns", where)
    chosen, labelled = {*observed, *labels}, set(labels)
    fields = tuple(name for name in available if name in chosen)
    return Layout(fields, tuple(n for n in observed if n not in labelled), labels, several)


def _named(
    available: AbstractSequence[str], known: AbstractSet[str], key: str | int, where: str, what: str
) -> str:
    if isinstance(key, int):
        if not -len(available) <= key < len(available):
            raise CorpusError(f"{where}: {what} {key} is not one of {len(available)} columns")
        return available[key]
    if not isinstance(key, str) or key not in known:
        names = ", ".join(map(str, available))
        raise CorpusError(f"{where}: {what} {key!r} is not one of {names}; name one of them")
    return key


def _check_distinct(names: tuple[str, ...], what: str, where: str) -> None:
    if len(set(names)) < len(names):
        raise CorpusError(f"{where}: {what} {', '.join(names)}: a name occurs twice; make them differ")
