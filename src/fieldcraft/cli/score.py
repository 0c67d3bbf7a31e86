"""`fieldcraft score`: score a file that has gold and predicted labels side by side, as conlleval does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from fieldcraft.cli.options import READING, Files, Json, Metric, Quiet, named
from fieldcraft.errors import CorpusError, InputError

EXAMPLES = [
    "fieldcraft tag ner.fc test.conll | fieldcraft score",
    "fieldcraft score tagged.conll --strict --scheme iob2",
    "fieldcraft score tagged.conll --json",
]
COUNTING = "Counting"
Delimiter = Annotated[
    str,
    typer.Option("--delimiter", "-d", help="auto, blank, tab or a character.", rich_help_panel=READING),
]


@dataclass
class Spans:
    """What counts as a span found."""

    strict: Annotated[
        bool,
        typer.Option("--strict", help="Count only well-formed spans of --scheme.", rich_help_panel=COUNTING),
    ] = False
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Scheme for --strict: iob1, iob2, iobes, bilou …",
            rich_help_panel=COUNTING,
            **named("fieldcraft.evaluation.span_rules", "STRICT"),
        ),
    ] = None
    raw: Annotated[
        bool,
        typer.Option(
            "--raw", "-r", help="Each label but O is a span of one token.", rich_help_panel=COUNTING
        ),
    ] = False

    def rules(self) -> dict[str, str]:
        """As arguments of the metrics."""
        if self.raw:
            return {"scheme": "raw"}
        if self.strict != (self.scheme is not None):
            raise InputError("--strict and --scheme go together: --strict --scheme iob2")
        return {"scheme": str(self.scheme), "mode": "strict"} if self.strict else {}


@dataclass
class Counting(Spans):
    """Spans, and how precision and recall are weighed."""

    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="Weight of precision in F.", rich_help_panel=COUNTING)
    ] = 0.5


def score(
    files: Files = ["-"],  # noqa: B006
    *,
    gold: Annotated[
        int, typer.Option(help="Column of the gold labels; -2 is the last but one.", rich_help_panel=READING)
    ] = -2,
    predicted: Annotated[int, typer.Option(help="Column of the predictions.", rich_help_panel=READING)] = -1,
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
