"""`fieldcraft bake-off`: train in many ways, compare them on held-out data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from fieldcraft.cli.options import Jobs, Metric, Quiet, Seed, Tables, in_reading, in_writing
from fieldcraft.cli.train import Looks, PartialLabels, in_learning, in_stopping
from fieldcraft.replacing import replace_text
from fieldcraft.terminal import visible_lines

if TYPE_CHECKING:
    from fieldcraft.tuning.results import BakeOff

EXAMPLES = [
    "fieldcraft bake-off train.conll --dev dev.conll --templates c0 --epochs 5",
    "fieldcraft bake-off train.conll --dev dev.conll --templates c0 --entry margin/smo",
]


@dataclass
class Entrants:
    """The entries and their limits."""

    entry: Annotated[
        list[str] | None,
        in_learning(
            metavar="[OBJECTIVE/]OPTIMISER[/PRIOR]",
            help="One way to train, e.g. lbfgs, margin/frank_wolfe or sgd:seed=3/laplacian:scale=1; "
            "again for more. All optimisers by default.",
        ),
    ] = None
    optimisers: Annotated[
        str | None, in_learning(metavar="NAMES", help="Entries by name, with commas between them.")
    ] = None
    prior: Annotated[
        str,
        in_learning(
            metavar="PRIOR", help="Of entries that name none, e.g. gaussian:variance=0.5, laplacian or none."
        ),
    ] = "gaussian"
    epochs: Annotated[
        int | None, in_stopping("--epochs", "--max-iterations", min=0, help="Iterations per entry.")
    ] = None
    max_seconds: Annotated[float, in_stopping(min=0, help="Of training per entry.")] = 900.0

    def names(self) -> list[str] | None:
        """The entries; None for all."""
        named = [name.strip() for name in (self.optimisers or "").split(",") if name.strip()]
        return [*(self.entry or ()), *named] or None


@dataclass
class Kept:
    """Files besides the table on standard output."""

    json: Annotated[
        str | None, in_writing(metavar="FILE", help="Everything, each iteration too; - instead of the table.")
    ] = None
    markdown: Annotated[
        str | None, in_writing(metavar="FILE", help="The table in Markdown; - instead of the table.")
    ] = None
    plot: Annotated[str | None, in_writing(metavar="FILE.png", help="Draw score against seconds.")] = None

    def files(self) -> list[str]:
        """The files to write."""
        return [name for name in (self.json, self.markdown, self.plot) if name is not None and name != "-"]


def bake_off(
    files: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Labelled files; - is standard input.")],
    *,
    dev: Annotated[
        list[str], in_reading("--dev", metavar="FILE", help="Development file, to score the models.")
    ],
    reading: Tables,
    partial: PartialLabels,
    looks: Looks,
    entrants: Entrants,
    metric: Metric = "auto",
    kept: Kept,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train in many ways on the same data, and compare the models on held-out data.

    The files are read and encoded once. Ends with a table, best first: objective, held-out score and its
    significance against the best, seconds, memory, active features. An entry that fails reports why, and
    the others continue. Ctrl-C stops the current entry and omits the rest; the exit code is then 130.
    """
    from fieldcraft.cli.app import INTERRUPTED
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.reading import read_labelled
    from fieldcraft.cli.summary import Report
    from fieldcraft.cli.training import model_settings
    from fieldcraft.cli.wording import check_columns
    from fieldcraft.models.chain import ChainCRF
    from fieldcraft.plots.figures import check_plots
    from fieldcraft.tuning.bake_off import bake_off as baked
    from fieldcraft.tuning.bake_off_entry import read_prior

    check_outputs(kept.files(), [*files, *dev, *looks.files()])
    if kept.plot is not None:
        check_plots()
    crf = ChainCRF(
        **model_settings(looks),
        prior=read_prior(entrants.prior),
        metric=metric,
        n_jobs=jobs,
        random_state=seed,
        verbose=not quiet,
    )
    corpus, held_out, _ = read_labelled(files, dev, reading.arguments(), partial.arguments())
    check_columns(corpus, looks.templates)
    Report(quiet=quiet).corpora(corpus, held_out)
    result = baked(
        crf,
        corpus,
        X_dev=held_out,
        entries=entrants.names(),
        epochs=entrants.epochs,
        max_seconds=entrants.max_seconds,
    )
    _keep(result, kept)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _keep(result: BakeOff, kept: Kept) -> None:
    """Print the table, or what replaces it on standard output, and write the files."""
    import json

    if "-" not in (kept.json, kept.markdown):
        print(visible_lines(str(result)))
    if kept.json is not None:
        _write(kept.json, json.dumps(result.to_dict(), ensure_ascii=False, indent=1) + "\n")
    if kept.markdown is not None:
        _write(kept.markdown, result.markdown())
    if kept.plot is not None:
        result.plot(kept.plot)


def _write(name: str, text: str) -> None:
    if name == "-":
        print(text, end="")
        return
    replace_text(name, text)
