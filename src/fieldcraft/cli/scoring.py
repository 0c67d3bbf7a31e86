"""Which columns of a tagged file are gold and predicted labels."""

from __future__ import annotations

import re
from typing import Any

from fieldcraft.errors import CorpusError

PROBABILITY = re.compile(r"(?:.*:)?[01]\.[0-9]{6}$", re.DOTALL)  # as `tag` writes them


def label_columns(names: list[str] | None, gold: str | None, predicted: str | None) -> list[str | int]:
    """The two label columns by name or position.

    >>> label_columns(["word", "ner", "predicted", "confidence"], None, None), label_columns(None, "1", None)
    ([1, 2], [1, -1])
    """
    at = (
        None
        if names is None or predicted is not None or "predicted" not in names
        else names.index("predicted")
    )
    second = -1 if predicted is None else _place(predicted)
    if at:
        return [at - 1 if gold is None else _place(gold), at]
    return [-2 if gold is None else _place(gold), second]


def refuse_probabilities(stream: Any, sequence: Any) -> None:
    """CorpusError if the last columns are probabilities, with the --columns that would do."""
    columns = {**sequence.columns, **sequence.label_columns()}
    fields = list(stream.fields)
    last = 0
    while last < len(fields) and all(map(PROBABILITY.match, columns[fields[-1 - last]])):
        last += 1
    if last == 0 or last + 3 > len(fields):
        return
    head = fields[: -last - 2]
    behind = ["confidence", *(f"p{i}" for i in range(1, last))]
    raise CorpusError(
        f"{stream.source}: the last column has probabilities, no labels, as `tag --confidence` writes them; "
        f"name the columns: --columns {','.join([*head, 'gold', 'predicted', *behind])}"
    )


def _place(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text
