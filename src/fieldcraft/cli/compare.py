"""`fieldcraft compare`: whether the difference between two runs is significant."""

from __future__ import annotations

from typing import Annotated

import typer

from fieldcraft.cli.options import Json, Metric, Quiet, Seed, in_reading, in_scoring
from fieldcraft.cli.score import Delimiter, Spans
from fieldcraft.errors import CorpusError
from fieldcraft.terminal import visible_lines

EXAMPLES = [
    "fieldcraft tag small.fc test.conll | fieldcraft compare test.conll tagged.conll -",
    "fieldcraft compare tagged.conll tagged.conll test.conll --gold -2 --json",
]
Labels = list[list[str]]


def compare(
    gold_file: Annotated[str, typer.Argument(metavar="GOLD", help="File with the correct labels.")],
    first: Annotated[str, typer.Argument(metavar="RUN1", help="The same tokens, labelled by one system.")],
    second: Annotated[
        str,
        typer.Argument(
            metavar="RUN2", help="The same tokens, labelled by another system; - is standard input."
        ),
    ],
    *,
    gold: Annotated[int, in_reading(help="Column of the labels in GOLD; -1 is the last.")] = -1,
    predicted: Annotated[int, in_reading(help="Column of the labels in the runs.")] = -1,
    delimiter: Delimiter = "auto",
    spans: Spans,
    resamples: Annotated[int, in_scoring(min=1, help="Number of bootstrap samples.")] = 5000,
    level: Annotated[float, in_scoring(min=0.01, max=0.999, help="Of its interval.")] = 0.95,
    metric: Metric = "auto",
    json: Json = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compare two labellings of the same tokens: scores, where they differ, and whether by chance.

    Each file has one token per line and the labels in its last column, as `tag` writes them. Shows the scores
    and a bootstrap interval of their difference, tokens right and wrong in both, and matched-pairs tests.
    """
    del quiet
    import json as json_

    from fieldcraft.evaluation.significance import compare as compared

    files = (gold_file, first, second)
    if files.count("-") > 1:
        raise CorpusError("- stands for two files; standard input can be read once")
    right, *runs = (_labels(f, c, delimiter) for f, c in zip(files, (gold, predicted, predicted)))
    for name, labels in zip(files[1:], runs):
        _check_lengths(gold_file, right, name, labels)
    comparison = compared(
        right,
        *runs,
        metric=str(metric),
        resamples=resamples,
        level=level,
        seed=seed,
        names=short_names(first, second),
        **spans.rules(),
    )
    print(
        json_.dumps({"files": files, **comparison.to_dict()}, ensure_ascii=False, indent=2)
        if json
        else visible_lines(str(comparison))
    )


def short_names(first: str, second: str) -> tuple[str, str]:
    """What the runs are called: their files, without folders if that tells them apart.

    >>> short_names("runs/a.conll", "-"), short_names("x/a.conll", "y/a.conll"), short_names("a", "a")
    (('a.conll', '<stdin>'), ('x/a.conll', 'y/a.conll'), ('a (1)', 'a (2)'))
    """
    paths = ["<stdin>" if name == "-" else name for name in (first, second)]
    short = [path.rsplit("/", 1)[-1] for path in paths]
    shown = paths if short[0] == short[1] else short
    return (shown[0], shown[1]) if shown[0] != shown[1] else (f"{shown[0]} (1)", f"{shown[1]} (2)")


def _labels(name: str, column: int, delimiter: str) -> Labels:
    from fieldcraft.corpus import read

    stream = read(name, format="columns", separator=delimiter, docstart="keep", label=column, lazy=True)
    return [sequence.label_list() for sequence in stream]


def _check_lengths(gold_file: str, gold: Labels, name: str, labels: Labels) -> None:
    """Raise a CorpusError at the first sequence of a run that differs from the gold file."""
    sizes = [list(map(len, side)) for side in (labels, gold)]
    if sizes[0] == sizes[1]:
        return
    pairs = zip(*sizes)
    at = next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), min(map(len, sizes)))
    counts = [f"{side[at]} tokens" if at < len(side) else "no tokens" for side in sizes]
    raise CorpusError(
        f"{_line(name, at)}: sequence {at} has {counts[0]} where {_line(gold_file, at)} has {counts[1]}; "
        "compare labellings of the same tokens"
    )


def _line(name: str, sequence: int) -> str:
    """`file:line` of a sequence's first token; only the file if it has no such line."""
    from itertools import islice

    from fieldcraft.corpus.formats.context import blocks
    from fieldcraft.corpus.sources import Source

    if name == "-":
        return "<stdin>"
    block = next(islice(blocks(Source(name, "utf-8").batches(), comment=None), sequence, None), None)
    return name if block is None else f"{name}:{block[1][0]}"
