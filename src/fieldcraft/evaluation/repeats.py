"""Inconsistent repeats: words that are right in one place of a document and missed in another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fieldcraft.errors import InputError
from fieldcraft.evaluation import labellings
from fieldcraft.evaluation.labellings import Labellings

OUTSIDE = "O"


def inconsistent_repeats(
    words: Iterable[Sequence[str]], gold: Labellings, predicted: Labellings
) -> dict[str, int]:
    """Missed tokens of each field whose word is found elsewhere in the document.

    A token counts where its gold label is field f and the predicted one is not, while the same word elsewhere
    in the document has the gold label f and is predicted so. Fields are labels without B- and I-; O is none.

    >>> words = [["Dr", "Green", "speaks", ".", "Green", "is", "new"]]
    >>> gold = [["O", "I-name", "O", "O", "I-name", "O", "O"]]
    >>> inconsistent_repeats(words, gold, [["O", "I-name", "O", "O", "O", "O", "O"]])
    {'name': 1}
    """
    encoded = labellings.encode(gold, predicted)
    rows = [list(row) for row in words]
    lengths = [int(n) for n in encoded.offsets[1:] - encoded.offsets[:-1]]
    if [len(row) for row in rows] != lengths:
        raise InputError("words and labels differ in length; give one word for each label")
    fields = [_field(name) for name in encoded.names]
    counts = dict.fromkeys((f for f in dict.fromkeys(fields) if f is not None), 0)
    for row, at in zip(rows, encoded.offsets.tolist()):
        truth = [fields[label] for label in encoded.gold[at : at + len(row)]]
        found = [fields[label] for label in encoded.predicted[at : at + len(row)]]
        known = {(word, f) for word, f, g in zip(row, truth, found) if f is not None and f == g}
        for word, f, g in zip(row, truth, found):
            if f is not None and f != g and (word, f) in known:
                counts[f] += 1
    return counts


def _field(label: str) -> str | None:
    if label == OUTSIDE:
        return None
    prefix, dash, name = label.partition("-")
    return name if dash and prefix in "BIESUL" else label
