"""`fieldcraft tune`: search for hyper-parameters on held-out data, keep the best model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fieldcraft.cli.options import Jobs, Metric, Quiet, Seed, Tables, in_reading, in_writing, named, panel
from fieldcraft.cli.train import Keeps, Learns, Looks, PartialLabels, Stops, in_file
from fieldcraft.terminal import visible_lines

EXAMPLES = [
    "fieldcraft tune train.conll --dev dev.conll --templates c0 --over variance=0.1..1000",
    "fieldcraft tune train.conll --dev dev.conll --templates c0 --over mean=0..1 -o m.fc",
    "fieldcraft tune train.conll --templates c0 --method evidence -o m.fc",
]
in_search = panel("What is searched")
EVIDENCE = "evidence"


@dataclass
class Searches:
    """The search space and the method."""

    over: Annotated[
        list[str] | None,
        in_search(
            metavar="NAME=FIRST..LAST",
            help="A setting of the prior between two ends, from strong to weak; or NAME=VALUE,VALUE, of "
            "templates and min_count too; again for more. Of a pool: weights.",
        ),
    ] = None
    method: Annotated[
        str,
        in_search(
            help="{fieldcraft.tuning.methods:METHODS}; golden is for one range. Or evidence: the Gaussian's "
            "variance by empirical Bayes, without held-out data and --over.",
            **named("fieldcraft.tuning.methods", "METHODS", EVIDENCE),
        ),
    ] = "grid"
    points: Annotated[
        int,
        in_search(min=1, help="Values of each range of a grid; else trainings in all (evidence: at most)."),
    ] = 15


@dataclass
class Kept:
    """Files besides the model and the table on standard output."""

    results: Annotated[
        str | None,
        in_writing(
            metavar="FILE",
            help="File of results (JSON lines), from which the command continues; MODEL.jsonl by default.",
        ),
    ] = None
    plot: Annotated[str | None, in_writing(metavar="FILE.png", help="Draw score and active weights.")] = None


def tune(
    files: Annotated[
        list[str],
        typer.Argument(metavar="TRAIN", help="Labelled files; - is standard input. Or the file of a pool."),
    ],
    *,
    dev: Annotated[
        list[str] | None, in_reading("--dev", metavar="FILE", help="Development file, to score the models.")
    ] = None,
    output: Annotated[
        str | None, in_file("--output", "-o", metavar="MODEL", help="File for the best model.")
    ] = None,
    reading: Tables,
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

    The files are encoded once, and each training starts from the weights of its neighbours. Ends with a
    table. Finished rows are stored in a results file, from which the same command continues. Ctrl-C keeps the
    rows so far and the best model; the exit code is then 130. Of a pool that is trained already, the weights
    of its members are searched.
    """
    from fieldcraft.cli.app import INTERRUPTED
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.reading import read_labelled
    from fieldcraft.cli.summary import Report
    from fieldcraft.cli.training import make_model
    from fieldcraft.cli.tune_pool import is_pool, tune_pool
    from fieldcraft.cli.wording import check_columns
    from fieldcraft.plots.figures import check_plots
    from fieldcraft.tuning.evidence import empirical_bayes
    from fieldcraft.tuning.search import tune as tuned
    from fieldcraft.tuning.space import read_over

    if len(files) == 1 and is_pool(files[0]):
        return tune_pool(files[0], dev, output, reading, searches, kept, metric, keeps, jobs, quiet=quiet)
    _check(searches, dev, kept)
    by_default = None if output is None or searches.method == EVIDENCE else f"{output}.jsonl"
    results = kept.results or by_default
    outputs = [output, results, results and f"{results}.weights", kept.plot]
    check_outputs(outputs, [*files, *(dev or ()), *looks.files()])
    if kept.plot is not None:
        check_plots()
    report = Report(quiet=quiet)
    corpus, held_out, source = read_labelled(files, dev, reading.arguments(), partial.arguments())
    check_columns(corpus, looks.templates)
    report.corpora(corpus, held_out)
    settings = {"metric": metric, "n_jobs": jobs, "random_state": seed, "verbose": not quiet}
    crf = make_model(looks, learns, Stops(), partial=partial.partial, **settings)
    result: Any
    if searches.method == EVIDENCE:
        result = empirical_bayes(crf, corpus, X_dev=held_out, rounds=searches.points)
    else:
        over, points = read_over(searches.over or []), searches.points
        result = tuned(
            crf, corpus, X_dev=held_out, over=over, method=searches.method, points=points, results=results
        )
    print(visible_lines(str(result)))
    if result.model is not None and output is not None:
        result.model.source_ = source
        result.model.save(output, compact=keeps.compact, float32=keeps.float32)
        report.saved(result.model, output)
    if kept.plot is not None:
        result.plot(kept.plot)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check(searches: Searches, dev: list[str] | None, kept: Kept) -> None:
    """Raise an error for options that exclude each other, before anything is read."""
    if searches.method == EVIDENCE:
        if searches.over or kept.results or kept.plot:
            raise typer.BadParameter(
                "evidence finds the variance by itself: leave out --over, --results and --plot"
            )
    elif not (dev and searches.over):
        missing = "--over" if dev else "--dev"
        raise typer.BadParameter(
            f"{missing} is missing: {searches.method} compares settings on held-out data, e.g. "
            "--dev dev.conll --over variance=0.1..1000; --method evidence works without"
        )
