"""`fieldcraft score`: score a file that has gold and predicted labels side by side, as conlleval does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fieldcraft.cli.options import Files, Json, Metric, Quiet, in_reading, named, panel
from fieldcraft.errors import CorpusError, InputError

EXAMPLES = [
    "fieldcraft tag ner.fc test.conll | fieldcraft score",
    "fieldcraft score tagged.conll --strict --scheme iob2",
    "fieldcraft score tagged.conll --json",
]
in_counting = panel("Counting")
Delimiter = Annotated[str, in_reading("--delimiter", "-d", help="auto, blank, tab or a character.")]


@dataclass
class Spans:
    """How spans are counted."""

    strict: Annotated[bool, in_counting("--strict", help="Count only well-formed spans of --scheme.")] = False
    scheme: Annotated[
        str | None,
        in_counting(
            help="Scheme for --strict: iob1, iob2, iobes, bilou …",
            **named("fieldcraft.evaluation.span_rules", "STRICT"),
        ),
    ] = None
    raw: Annotated[bool, in_counting("--raw", "-r", help="Each label but O is a span of one token.")] = False

    def rules(self) -> dict[str, str]:
        """Arguments of the metrics."""
        if self.raw:
            return {"scheme": "raw"}
        if self.strict != (self.scheme is not None):
            raise InputError("--strict and --scheme go together: --strict --scheme iob2")
        return {"scheme": str(self.scheme), "mode": "strict"} if self.strict else {}


@dataclass
class Counting(Spans):
    """How spans are counted, and how precision and recall are weighted."""

    alpha: Annotated[float, in_counting(min=0, max=1, help="Weight of precision in F.")] = 0.5


def score(
    files: Files = ["-"],  # noqa: B006
    *,
    gold: Annotated[int, in_reading(help="Column of the gold labels; -2 is the last but one.")] = -2,
    predicted: Annotated[int, in_reading(help="Column of the predictions.")] = -1,
    delimiter: Delimiter = "auto",
    counting: Counting,
    metric: Metric = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score predicted labels against gold ones, both in the same file, and print conlleval's table."""
    del quiet
    from fieldcraft.cli.reporting import print_scores
    from fieldcraft.corpus import read

    rules = counting.rules()
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    for name in files:
        stream = read(
            name, format="columns", separator=delimiter, docstart="keep", label=[gold, predicted], lazy=True
        )
        for sequence in stream:
            if len(stream.label_names) != 2:
                raise CorpusError(f"{name}: --gold and --predicted name the same column; choose two")
            for side, column in zip(sides, stream.label_names):
                side.append(sequence.label_list(column))
    print_scores(*sides, metric=metric, json=json, alpha=counting.alpha, rules=rules)
