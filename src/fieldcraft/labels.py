"""Labels as numbers: names, checks and partial labels.

A label is a string. A partial label is None (nothing is known) or a set of candidates. ``names`` lists the
labels of a model in order; the number of a label is its position there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError
from fieldcraft.features.numbered import StringLists, numbered


class PartialLabels(NamedTuple):
    """Candidates of token t: labels[ptr[t] : ptr[t + 1]]; none at all where nothing is known."""

    ptr: NDArray[np.int64]  # [tokens + 1]
    labels: NDArray[np.int32]

    def allowed(self, n_labels: int) -> NDArray[np.uint8]:
        """[tokens, labels] 1 where a token may have the label; all of them where nothing is known."""
        n = np.diff(self.ptr)
        table = np.zeros((len(n), n_labels), np.uint8)
        table[np.repeat(np.arange(len(n)), n), self.labels] = 1
        table[n == 0] = 1
        return table

    def any(self) -> NDArray[np.int32]:
        """[tokens] one candidate each, for functions that need an array of labels."""
        known = np.diff(self.ptr) > 0
        out = np.zeros(len(known), np.int32)
        out[known] = self.labels[self.ptr[:-1][known]]
        return out


def label_names(y: Sequence[Sequence[Any]]) -> list[str]:
    """The labels that occur, also those that occur only as candidates, sorted."""
    plain = numbered(y)
    if plain is not None:
        return sorted(plain.names)
    names: set[Any] = set()
    for labels in y:
        try:
            names.update(labels)
        except TypeError:  # a list of candidates
            names.update(map(_hashable, labels))
    sets = [name for name in names if isinstance(name, frozenset)]
    names.discard(None)
    return sorted(map(str, names.difference(sets).union(*sets)))  # NumPy's texts become plain ones


def _hashable(label: Any) -> Any:
    return label if label is None or isinstance(label, str) else frozenset(label)


def encode_labels(
    y: Sequence[Sequence[str]], names: Sequence[str], offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Numbers of the labels [tokens]; checks that each sequence has as many as it has tokens."""
    number = {name: i for i, name in enumerate(names)}
    plain = numbered(y)
    if plain is not None and np.array_equal(plain.offsets, offsets) and number.keys() >= set(plain.names):
        return np.array([number[name] for name in plain.names], np.int32)[plain.numbers]
    _check_lengths(y, offsets)
    try:
        numbers = map(number.__getitem__, chain.from_iterable(y))
        return np.fromiter(numbers, np.int32, int(offsets[-1]))
    except KeyError:
        _refuse_unknown(y, number)
        raise


def encode_partial(
    y: Sequence[Sequence[Any]], names: Sequence[str], offsets: NDArray[np.int64]
) -> PartialLabels:
    """Numbers of the candidates of each token; None has none of them."""
    number: dict[Any, tuple[int, ...]] = {name: (i,) for i, name in enumerate(names)}
    number[None] = ()
    _check_lengths(y, offsets)
    numbers: list[tuple[int, ...]] = []
    for i, labels in enumerate(y):
        for t, original in enumerate(labels):
            label = _hashable(original)
            if label not in number:
                if isinstance(label, str) or not label <= number.keys():
                    raise _undeclared(i, t, original)
                number[label] = tuple(sorted(number[one][0] for one in label))
            numbers.append(number[label])
    ptr = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum([len(candidates) for candidates in numbers], out=ptr[1:])
    return PartialLabels(ptr, np.fromiter(chain.from_iterable(numbers), np.int32, int(ptr[-1])))


def _check_lengths(y: Sequence[Sequence[Any]], offsets: NDArray[np.int64]) -> None:
    lengths = np.fromiter((len(labels) for labels in y), np.int64, len(y))
    wrong = np.flatnonzero(lengths != np.diff(offsets))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"sequence {i}: {lengths[i]} labels for {offsets[i + 1] - offsets[i]} tokens; "
            "each token needs one label"
        )


def _undeclared(sequence: int, token: int, label: Any) -> InputError:
    return InputError(
        f"sequence {sequence}, token {token}: label {label!r} is not among those that labels= declares; "
        "add it there or relabel"
    )


def declared_labels(declared: Any, y: Sequence[Sequence[Any]]) -> list[str]:
    """The labels of a model: the argument, in its order, or all that occur; InputError if y has others."""
    present = label_names(y)
    refuse_broken(present, y)
    if declared is None:
        return present
    names = [declared] if isinstance(declared, str) else list(declared)
    known = all(isinstance(name, str) and _is_text(name) for name in names)
    if not known or len(set(names)) < len(names) or not names:
        raise InputError(f"labels={declared!r}; give a list of different label names")
    if not set(present) <= set(names):
        for i, labels in enumerate(y):
            for t, label in enumerate(labels):
                if not set(label_names([[label]])) <= set(names):
                    raise _undeclared(i, t, label)
    return list(map(str, names))


def refuse_broken(names: Sequence[str], y: Sequence[Sequence[Any]]) -> None:
    """InputError where a label is no text that can be written: it has a lone surrogate."""
    broken = {name for name in names if not _is_text(name)}
    for i, labels in enumerate(y if broken else ()):
        for t, label in enumerate(labels):
            if not broken.isdisjoint(label_names([[label]])):
                raise InputError(
                    f"sequence {i}, token {t}: label {label!r} is not valid Unicode (it contains a lone "
                    "surrogate); decode the text with errors='replace'"
                )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_unknown(y: Sequence[Sequence[str]], number: dict[str, int]) -> None:
    for i, labels in enumerate(y):
        for t, label in enumerate(labels):
            if label not in number:
                raise InputError(
                    f"sequence {i}, token {t}: label {label!r} was not seen in training; "
                    "relabel it or train with it"
                )


UNORDERED = (str, bytes, dict, set, frozenset)  # they have a length but are not lists of labels


def check_labels(X_length: int, y: Any, *, partial: bool = False) -> list[Any]:
    """y as a list of label lists, as many as there are sequences, or an InputError.

    With ``partial`` a label may also be None or a set, frozenset or list of candidates.
    """
    if isinstance(y, (str, bytes, dict)) or not hasattr(y, "__iter__"):
        raise InputError(f"y is a {type(y).__name__}; it must be a list of label lists")
    labels = StringLists(y if isinstance(y, list) else list(y))
    if len(labels) != X_length:
        raise InputError(f"X has {X_length} sequences and y has {len(labels)}; they must agree")
    if numbered(labels) is not None:
        return labels
    for i, sequence in enumerate(labels):
        if isinstance(sequence, UNORDERED) or not hasattr(sequence, "__len__"):
            raise InputError(f"y[{i}] is a {type(sequence).__name__}; each sequence needs a list of labels")
        if all(issubclass(kind, str) for kind in set(map(type, sequence))):
            continue
        for t, label in enumerate(sequence):
            if not isinstance(label, str):
                check_partial(i, t, label, partial=partial)
    return labels


def check_partial(sequence: int, token: int, label: Any, *, partial: bool) -> None:
    """InputError for a label that is not a string, unless partial labels are allowed."""
    where = f"sequence {sequence}, token {token}: label {label!r}"
    if not (label is None or isinstance(label, (set, frozenset, list))):
        remedy = "use str(label)"
        if isinstance(label, np.integer):  # scikit-learn does so for probabilities
            remedy = "use str(label), and fc.cross_val_predict where scikit-learn's numbered them"
        raise InputError(f"{where} is a {type(label).__name__}; labels are strings: {remedy}")
    if not partial:
        raise InputError(
            f"{where} is not a string; unknown labels (None) and sets of candidates need "
            "objective='marginal_likelihood'"
        )
    if label is None:
        return
    if not label:
        raise InputError(f"{where} is an empty set of candidates; use None where nothing is known")
    for one in label:
        if not isinstance(one, str):
            raise InputError(f"{where} has a {type(one).__name__}; candidates are strings: use str(label)")
