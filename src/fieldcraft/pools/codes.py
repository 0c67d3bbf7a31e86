"""Error-correcting codes over labels: each label has a word of bits, each bit is learnt by a binary model.

    code [Y, bits] of 0 and 1; two labels whose words differ in l bits are told apart while fewer than l / 2
    bits are wrong

random            bits drawn at random; of several draws the one whose nearest words are farthest apart
one_against_rest  one bit per label
exhaustive        every way to part the labels in two: 2^(Y-1) - 1 bits
data              greedy: the next bit is, of many drawn at random, the one that parts best the labels that a
                  quick model confuses, and that the bits so far part least

With ``bits="auto"`` the data-driven code is cut where the bound on the share of errors is smallest,

    P(error) <= 2 sum over bits of P(bit wrong) / (smallest distance of two words),

since an error takes half that many wrong bits; P(bit wrong) comes from the quick model's confusions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldcraft.counts import whole_number
from fieldcraft.errors import InputError

Code = NDArray[np.uint8]
Floats = NDArray[np.float64]
CODES = ("random", "one_against_rest", "exhaustive", "data")
MOST_EXHAUSTIVE = 8  # labels
DRAWS = 32  # of random codes
CANDIDATES = 64  # columns that the greedy search chooses the next one from
LONGEST_AUTO = 200  # bits


def needs_confusion(code: Any) -> bool:
    """Whether making the code takes a quick model."""
    return isinstance(code, str) and code == "data"


def make_code(
    code: Any, labels: Sequence[str], bits: Any, seed: int, confusion: Floats | None = None
) -> Code:
    """[Y, bits] the words of the labels.

    Parameters
    ----------
    code : "random", "one_against_rest", "exhaustive", "data", an array [Y, bits], or a dict label -> "0110"
    labels : names
    bits : number of bits; "auto" for the data-driven code; the others than random ones have their own
    seed : of random choices
    confusion : [Y, Y] how often a quick model says the second for the first, for code="data"

    >>> make_code("one_against_rest", ["a", "b", "c"], 60, 0).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if not isinstance(code, str):
        return _given(code, labels)
    if code not in CODES:
        raise InputError(
            f"code={code!r}; choose one of {', '.join(CODES)}, or give an array or a dict of words"
        )
    if len(labels) < 2:
        raise InputError(f"a code needs two labels or more, the data has {len(labels)}")
    if code == "one_against_rest":
        return np.eye(len(labels), dtype=np.uint8)
    if code == "exhaustive":
        return _exhaustive(labels)
    if bits == "auto":
        if confusion is None:
            raise InputError("bits='auto' is for code='data'; give a number of bits, e.g. 60")
        return _shortest(_greedy(confusion, LONGEST_AUTO, seed), confusion)
    n = whole_number(bits, "bits", 1, "the number of bits")
    if n < np.log2(len(labels)):
        least = int(np.ceil(np.log2(len(labels))))
        raise InputError(
            f"{n} bits have {2**n} words, and there are {len(labels)} labels; use {least} or more"
        )
    return _random(len(labels), n, seed) if confusion is None else _greedy(confusion, n, seed)


def distance(code: Code) -> int:
    """The smallest Hamming distance of two words."""
    return int(_distances(code)[np.triu_indices(len(code), 1)].min())


def error_bound(code: Code, wrong: Floats) -> float:
    """2 sum of P(bit wrong) / the smallest distance: a bound on the share of wrong labels."""
    apart = distance(code)
    return float("inf") if apart == 0 else 2.0 * float(np.sum(wrong)) / apart


def bit_errors(code: Code, confusion: Floats) -> Floats:
    """[bits] how often each bit is wrong where labels are confused like this."""
    share = confusion / max(float(confusion.sum()), 1.0)
    differs = code[:, None, :] != code[None, :, :]  # [Y, Y, bits]
    return np.asarray(np.einsum("ab,abk->k", share, differs))


def _distances(code: Code) -> NDArray[np.int64]:
    ones = code.astype(np.int64)
    return np.asarray(ones @ (1 - ones).T + (1 - ones) @ ones.T)


def _given(code: Any, labels: Sequence[str]) -> Code:
    if isinstance(code, Mapping):
        lacking = [label for label in labels if label not in code]
        if lacking:
            raise InputError(f"code has no word for the label {lacking[0]!r}")
        code = [[*map(int, str(code[label]))] for label in labels]
    try:
        words = np.asarray(code)
    except ValueError:
        raise InputError("code: the words differ in length; give every label as many bits") from None
    if words.ndim != 2 or len(words) != len(labels) or not words.shape[1]:
        raise InputError(
            f"code has the shape {words.shape}; expected [{len(labels)}, bits]: a word for each label"
        )
    if not np.isin(words, (0, 1)).all():
        raise InputError("code: words consist of 0 and 1")
    made = words.astype(np.uint8)
    _, first, count = np.unique(made, axis=0, return_index=True, return_counts=True)
    if len(first) < len(made):
        twice = made[first[np.argmax(count)]]
        same = [labels[i] for i in np.flatnonzero((made == twice).all(axis=1)).tolist()]
        raise InputError(
            f"code: the labels {same[0]!r} and {same[1]!r} have equal words; no bit tells them apart"
        )
    return made


def _exhaustive(labels: Sequence[str]) -> Code:
    n = len(labels)
    if n > MOST_EXHAUSTIVE:
        raise InputError(
            f"code='exhaustive' for {n} labels has 2^{n - 1} - 1 bits; it is for {MOST_EXHAUSTIVE} labels at "
            "most, use code='random' or 'data'"
        )
    columns = np.arange(1, 2 ** (n - 1))
    return ((columns[None, :] >> np.arange(n)[:, None]) & 1).astype(np.uint8)


def _column(rng: np.random.Generator, n: int) -> Code:
    """Labels parted in two at random, none of the parts empty."""
    while True:
        drawn = rng.integers(0, 2, size=n).astype(np.uint8)
        if 0 < drawn.sum() < n:
            return drawn


def _random(n: int, bits: int, seed: int) -> Code:
    rng = np.random.default_rng(seed)
    drawn = [np.stack([_column(rng, n) for _ in range(bits)], axis=1) for _ in range(DRAWS)]
    best = max(drawn, key=distance)
    if distance(best) == 0:
        best = _repaired(best, rng)
    return best


def _repaired(code: Code, rng: np.random.Generator) -> Code:
    """Words that occur twice are drawn again until all differ."""
    made: Code = code.copy()
    while True:
        _, first = np.unique(made, axis=0, return_index=True)
        twice = np.setdiff1d(np.arange(len(made)), first)
        if not len(twice):
            return made
        made[twice] = rng.integers(0, 2, size=(len(twice), made.shape[1]))


def _greedy(confusion: Floats, bits: int, seed: int) -> Code:
    """The next column parts best what is confused, each pair less the more often it is parted already."""
    rng, n = np.random.default_rng(seed), len(confusion)
    share = (confusion + confusion.T) / max(float(confusion.sum()), 1.0)
    share = share + 1.0 / n**2  # pairs that are never confused must differ too
    parted, columns = np.zeros((n, n)), []
    for _ in range(bits):
        drawn = np.stack([_column(rng, n) for _ in range(CANDIDATES)]).astype(np.float64)  # [candidates, Y]
        value = share * 0.5**parted
        inside = np.einsum("ka,ab,kb->k", drawn, value, 1 - drawn, optimize=True)
        best = drawn[int(np.argmax(inside))]
        parted += best[:, None] != best[None, :]
        columns.append(best)
    made = np.stack(columns, axis=1).astype(np.uint8)
    return made if distance(made) else _repaired(made, rng)


def _shortest(code: Code, confusion: Floats) -> Code:
    """The beginning of a code with the smallest bound on the errors."""
    wrong = bit_errors(code, confusion)
    least = int(np.ceil(np.log2(len(code))))
    lengths = range(least, code.shape[1] + 1)
    return code[:, : min(lengths, key=lambda n: error_bound(code[:, :n], wrong[:n]))]
