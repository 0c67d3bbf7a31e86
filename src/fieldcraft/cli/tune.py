"""`fieldcraft tune`: search for hyper-parameters on held-out data, keep the best model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from fieldcraft.cli.options import READING, WRITING, Jobs, Metric, Quiet, Reading, Seed, named
from fieldcraft.cli.train import KEEPS, Keeps, Learns, Looks, PartialLabels, Stops

EXAMPLES = [
    "fieldcraft tune train.conll --dev dev.conll --templates c0 --over variance=0.1..1000",
    "fieldcraft tune train.conll --dev dev.conll --templates c0 --over mean=0..1 -o m.fc",
]
SEARCHES = "What is searched"


@dataclass
class Searches:
    """What is searched, and how."""

    over: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FIRST..LAST",
            help="A setting of the prior between two ends, from strong to weak; or NAME=VALUE,VALUE, of "
            "templates and min_count too; again for more.",
            rich_help_panel=SEARCHES,
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            help="{fieldcraft.tuning.methods:METHODS}; golden is for one range.",
            rich_help_panel=SEARCHES,
            **named("fieldcraft.tuning.methods", "METHODS"),
        ),
    ] = "grid"
    points: Annotated[
        int,
        typer.Option(
            min=1, help="Values of each range of a grid; else trainings in all.", rich_help_panel=SEARCHES
        ),
    ] = 15


@dataclass
class Kept:
    """Files besides the model and the table on standard output."""

    results: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows as JSON lines, from which the same command goes on; MODEL.jsonl by default.",
            rich_help_panel=WRITING,
        ),
    ] = None
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE.png", help="Draw score and active weights.", rich_help_panel=WRITING),
    ] = None


def tune(
    files: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Labelled files; - is standard input.")],
    *,
    dev: Annotated[
        list[str],
        typer.Option(
            "--dev", metavar="FILE", help="Held-out file that scores them.", rich_help_panel=READING
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="Where the best model goes.", rich_help_panel=KEEPS
        ),
    ] = None,
    reading: Reading,
    partial: PartialLabels,
    looks: Looks,
    learns: Learns,
    searches: Searches,
    metric: Metric = "auto",
    keeps: Keeps,
    kept: Kept,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Search for the hyper-parameters that score best on held-out data; keep the best model.

    The files are encoded once, and each training begins with the weights of its neighbours. Ends with a
    table. What is finished stands in a results file: the same command goes on from there. Ctrl-C leaves the
    rows so far and the best model of them; the exit code is then 130.
    """
    from fieldcraft.cli.app import INTERRUPTED
    from fieldcraft.cli.reading import read_labelled
    from fieldcraft.cli.summary import Report
    from fieldcraft.cli.training import make_model, writable
    from fieldcraft.tuning.plots import check_plots
    from fieldcraft.tuning.search import tune as tuned
    from fieldcraft.tuning.space import read_over

    results = f"{output}.jsonl" if kept.results is None and output is not None else kept.results
    for name in (output, results, kept.plot):
        if name is not None:
            writable(name)
    if kept.plot is not None:
        check_plots()
    report = Report(quiet=quiet)
    corpus, held_out, source = read_labelled(files, dev, reading.arguments(), partial.arguments())
    report.corpora(corpus, held_out)
    settings = {"metric": metric, "n_jobs": jobs, "random_state": seed, "verbose": not quiet}
    crf = make_model(looks, learns, Stops(), partial=partial.partial, **settings)
    found = tuned(
        crf,
        corpus,
        X_dev=held_out,
        over=read_over(searches.over),
        method=searches.method,
        points=searches.points,
        results=results,
    )
    print(found)
    if found.model is not None and output is not None:
        found.model.source_ = source
        found.model.save(output, compact=keeps.compact, float32=keeps.float32)
        report.saved(found.model, output)
    if kept.plot is not None:
        found.plot(kept.plot)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)
