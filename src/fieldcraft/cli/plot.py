"""`fieldcraft plot`: pictures of a training, a model, its mistakes and its confidence."""

from __future__ import annotations

from typing import Annotated

import typer

from fieldcraft.cli.options import Files, Jobs, Quiet, Reading, in_writing, named

EXAMPLES = [
    "fieldcraft plot curves ner.fc -o curves.png",
    "fieldcraft plot types ner.fc test.conll -o types.svg",
    "fieldcraft plot reliability ner.fc test.conll -o reliability.png",
    "fieldcraft plot sentence ner.fc test.conll --sequence 2 -o sentence.html",
    "fieldcraft plot graph model.uai -o graph.svg",
]


def plot(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="{fieldcraft.cli.pictures:PICTURES}.",
            show_default=False,
            **named("fieldcraft.cli.pictures", "PICTURES"),
        ),
    ],
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model file; for tuning and bake-off their file of results, for graph a UAI file.",
            show_default=False,
        ),
    ],
    files: Files = [],  # noqa: B006
    *,
    output: Annotated[
        str, in_writing("--output", "-o", metavar="FILE", help="Picture to write: .png, .svg, .pdf, .html.")
    ],
    sequence: Annotated[int, typer.Option(min=0, help="Number of the sequence, from 0.")] = 0,
    reading: Reading,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Draw a picture: how training went, what a model weighs, where it errs, and how sure it is.

    curves, transitions and weights look at a model; confusion (labels), types (of spans), reliability and
    thresholds label files whose labels are known; sentence and segments show one sequence of a file.
    """
    from fieldcraft.cli.loading import load_model, reading_of
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.pictures import PICTURES, Asked
    from fieldcraft.cli.reading import read_corpora
    from fieldcraft.plots.figures import check_plots

    picture = PICTURES[kind]
    wants = picture.needs in ("labelled", "files")
    if not wants and files:
        raise typer.BadParameter(f"{kind} looks at {model} alone; leave out {' '.join(files)}")
    check_outputs([output], [model, *files])
    if kind != "sentence":
        check_plots()
    crf = None if picture.needs == "results" else load_model(model, jobs)
    corpus = None
    if wants:
        label = {"optional_label": True} if picture.needs == "files" else {"label": -1}
        corpus, _ = read_corpora(files or ["-"], {**label, **reading_of(crf, reading)})
    picture.draw(Asked(crf, corpus, model, sequence, output))
    if not quiet:
        typer.echo(f"{output} written", err=True)
