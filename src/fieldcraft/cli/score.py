"""`fieldcraft score`: score a file that has gold and predicted labels side by side, as conlleval does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fieldcraft.cli.options import Files, Json, Metric, Quiet, in_reading, named, panel
from fieldcraft.errors import CorpusError, InputError

EXAMPLES = [
    "fieldcraft tag ner.fc test.conll | fieldcraft score",
    "fieldcraft score tagged.conll --strict --scheme iob2",
    "fieldcraft score tagged.conll --json",
]
SAME = "--gold and --predicted name the same column; choose two"
in_counting = panel("Counting")
Delimiter = Annotated[str, in_reading("--delimiter", "-d", help="auto, blank, tab or a character.")]


Columns = Annotated[
    str | None,
    in_reading(metavar="NAMES", help="Names of the columns, e.g. word,ner,predicted,confidence."),
]


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
    raw: Annotated[bool, in_counting("--raw", "-r", help="Each label except O is a span of one token.")] = (
        False
    )

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
    columns: Columns = None,
    gold: Annotated[
        str | None, in_reading(metavar="NAME", help="Gold labels: a name or a position; the last but one.")
    ] = None,
    predicted: Annotated[
        str | None, in_reading(metavar="NAME", help="Predictions: a name or a position; the last.")
    ] = None,
    delimiter: Delimiter = "auto",
    counting: Counting,
    metric: Metric = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score predicted labels against gold ones, both in the same file, and print conlleval's table.

    The labels are the last two columns. Where the columns are named and one is `predicted`, the labels are
    this one and the one before it.
    """
    del quiet
    from fieldcraft.cli.reporting import print_scores
    from fieldcraft.cli.scoring import label_columns, refuse_probabilities
    from fieldcraft.corpus import read
    from fieldcraft.corpus.formats import by_extension
    from fieldcraft.corpus.sources import extension

    rules = counting.rules()
    names = None if columns is None else columns.replace(",", " ").split()
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    for name in files:
        format = by_extension(extension(name)) or "columns"
        options: Any = {"separator": delimiter, "docstart": "keep"} if format == "columns" else {}
        label = label_columns(names, gold, predicted)
        if label[0] == label[1]:
            raise CorpusError(SAME)
        stream = read(name, format=format, columns=names, label=label, lazy=True, **options)
        for number, sequence in enumerate(stream):
            if len(stream.label_names) != 2:
                raise CorpusError(SAME)
            if number == 0 and names is None and predicted is None:
                refuse_probabilities(stream, sequence)
            for side, column in zip(sides, stream.label_names):
                side.append(sequence.label_list(column))
    print_scores(*sides, metric=metric, json=json, alpha=counting.alpha, rules=rules)
