"""When a span begins, continues and counts: rules for two adjacent labels.

A label is read as a letter and a type: ``B-LOC`` is (B, LOC). Rules are tables over pairs of labels,
previous and current, where the extra id Y is outside the sequence:

    starts[p, c]   a span may begin at c        goes_on[p, c]  a span with p continues at c
    closes[p, c]   a span that ends at p counts

lenient (conlleval): c begins unless it is O or continues; it continues a span of the same type unless
    c is B or S or p is E or S; every span counts. Each label but O lies in exactly one span, so
    IOB1, IOB2, IO, IOBES and BILOU need no switch. L and U are read as E and S.
strict: the pairs of a scheme, as in seqeval's strict mode; labels that do not fit form no span. A pair is
    written as previous letter, letter and a sign: ``=`` same type, ``!`` another, ``*`` any;
    a dot is any letter.

Hazard: conlleval itself has the letters B, I, E and O. On B, I and O we count as it does, always;
it joins ``E-X B-X`` and has no S, where we take E and S as the end of a span.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.errors import InputError

_LETTERS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}


class LabelReading(NamedTuple):
    """A label as a letter (B, I, E, S, O; L and U only where strict) and a type (empty for O)."""

    letter: str
    type: str


OUTSIDE = LabelReading("O", "")


class PairTables(NamedTuple):
    """The rules for one set of labels, and the type of each label."""

    types: tuple[str, ...]  # sorted
    type_of: NDArray[np.intp]  # [Y + 1] index into types; -1 outside
    starts: NDArray[np.bool_]  # [Y + 1, Y + 1] (previous, current)
    goes_on: NDArray[np.bool_]  # [Y + 1, Y + 1]
    closes: NDArray[np.bool_]  # [Y + 1, Y + 1]


class StrictScheme(NamedTuple):
    """The letters of a scheme besides O, and its pairs."""

    letters: str
    starts: str
    goes_on: str
    closes: str


_IOBES = StrictScheme("BIES", ".B* .S*", "BI= BE= II= IE=", "S.* E.*")
STRICT: Mapping[str, StrictScheme] = {
    "iob1": StrictScheme("BI", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="),
    "iob2": StrictScheme("BI", ".B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "ioe1": StrictScheme("IE", "OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="),
    "ioe2": StrictScheme("IE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E.*"),
    "iobes": _IOBES,
    "bilou": StrictScheme(*(part.translate(str.maketrans("ES", "LU")) for part in _IOBES)),
}


def read_prefixed(label: str) -> LabelReading:
    """Read ``B-LOC``, ``O`` or a bare ``B``; the type is all that follows the first dash."""
    if label == "O":
        return OUTSIDE
    letter, _, type_ = label.partition("-")
    if letter not in _LETTERS:
        raise InputError(
            f"label {label!r} is neither O nor one of B I E S L U, a dash and a type; "
            "score these labels with token_accuracy, or pass scheme='raw'"
        )
    return LabelReading(_LETTERS[letter], type_)


def read_raw(label: str) -> LabelReading:
    """Read every label but O as a span of one token, like ``conlleval -r``."""
    return OUTSIDE if label == "O" else LabelReading("S", label)


READINGS: Mapping[str, Callable[[str], LabelReading]] = {
    "conlleval": read_prefixed,
    "raw": read_raw,
}


def pair_tables(label_names: Sequence[str], scheme: str, mode: str) -> PairTables:
    """The rules of a scheme, for these labels."""
    if mode not in MODES:
        raise InputError(f"mode={mode!r} is not one of {', '.join(MODES)}")
    return MODES[mode](label_names, scheme)


def _lenient(label_names: Sequence[str], scheme: str) -> PairTables:
    if scheme not in READINGS:
        raise InputError(
            f"scheme={scheme!r} is not one of {', '.join(READINGS)}; "
            "'conlleval' reads IOB1, IOB2, IO, IOBES and BILOU, mode='strict' takes their names"
        )
    readings = [*map(READINGS[scheme], label_names), OUTSIDE]
    letter, types, type_of = _columns(readings)
    inside, same = letter != "O", type_of[:, None] == type_of
    goes_on = inside & same & ~np.isin(letter, ("B", "S")) & ~np.isin(letter, ("E", "S"))[:, None]
    return PairTables(types, type_of, inside & ~goes_on, goes_on, np.ones_like(goes_on))


def _strict(label_names: Sequence[str], scheme: str) -> PairTables:
    rules = STRICT.get(scheme.lower())
    if rules is None:
        raise InputError(f"mode='strict' needs scheme= one of {', '.join(STRICT)}; got {scheme!r}")
    readings = [*(_read_strictly(label, rules.letters, scheme) for label in label_names), OUTSIDE]
    letter, types, type_of = _columns(readings)
    return PairTables(types, type_of, *(_pairs(letter, type_of, part) for part in rules[1:]))


MODES: Mapping[str, Callable[[Sequence[str], str], PairTables]] = {"lenient": _lenient, "strict": _strict}


def _read_strictly(label: str, letters: str, scheme: str) -> LabelReading:
    if label == "O":
        return OUTSIDE
    letter, _, type_ = label.partition("-")
    if letter == "" or letter not in letters:
        raise InputError(
            f"label {label!r} does not belong to scheme {scheme}; use O or a type behind one of "
            f"{' '.join(f'{x}-' for x in letters)}, or leave out mode='strict'"
        )
    return LabelReading(letter, type_)


def _columns(
    readings: Sequence[LabelReading],
) -> tuple[NDArray[np.str_], tuple[str, ...], NDArray[np.intp]]:
    """Letters [Y + 1], the types, and the type of each label [Y + 1]."""
    types = tuple(sorted({reading.type for reading in readings if reading.letter != "O"}))
    number = {type_: index for index, type_ in enumerate(types)}
    type_of = [number[reading.type] if reading.letter != "O" else -1 for reading in readings]
    return np.array([reading.letter for reading in readings]), types, np.array(type_of, np.intp)


def _pairs(letter: NDArray[np.str_], type_of: NDArray[np.intp], rules: str) -> NDArray[np.bool_]:
    """[Y + 1, Y + 1] where one of the rules applies."""
    same = type_of[:, None] == type_of
    by_sign = {"=": same, "!": ~same, "*": np.ones_like(same)}
    table = np.zeros(same.shape, np.bool_)
    for rule in rules.split():
        left, right = ((letter == x) | (x == ".") for x in rule[:2])
        table |= left[:, None] & right & by_sign[rule[2]]
    return table
