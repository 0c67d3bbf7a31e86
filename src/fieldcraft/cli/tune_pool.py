"""`fieldcraft tune` with the file of a pool: a search for the weights of its members."""

from __future__ import annotations

from typing import Any

import typer

from fieldcraft.errors import InputError
from fieldcraft.terminal import visible_lines

WEIGHTS = "weights"


def is_pool(path: str) -> bool:
    """Whether a file is a model, of which only pools have anything that is tuned without training."""
    from fieldcraft.store.importers import is_model

    return path != "-" and is_model(path)


def tune_pool(
    path: str,
    dev: list[str] | None,
    output: str | None,
    reading: Any,
    searches: Any,
    kept: Any,
    metric: str | None,
    keeps: Any,
    jobs: int | None,
    *,
    quiet: bool,
) -> None:
    """Search for the weights that score best on held-out files; print the rows, write the best pool."""
    from fieldcraft.cli.app import INTERRUPTED
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.pool_options import load_pool, say_saved
    from fieldcraft.cli.reading import read_corpora
    from fieldcraft.tuning.search import tune
    from fieldcraft.tuning.simplex import Simplex

    _check(path, dev, searches, kept)
    check_outputs([output], [path, *(dev or ())])
    pool = load_pool(path, jobs)
    corpus, _ = read_corpora(dev or [], {"label": "auto", **reading_of(pool, reading)})
    if metric not in (None, "auto"):
        pool.metric = metric
    method = "golden" if searches.method == "grid" and len(pool.member_names_) == 2 else searches.method
    found = tune(pool, X_dev=corpus, over={WEIGHTS: Simplex()}, method=method, points=searches.points)
    print(visible_lines(str(found)))
    best: Any = found.model
    if output is not None:
        best.source_ = pool.source_
        best.save(output, compact=keeps.compact, float32=keeps.float32)
        say_saved(best, output, quiet=quiet)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check(path: str, dev: list[str] | None, searches: Any, kept: Any) -> None:
    """Raise an error for options that are for trainings."""
    if not dev:
        raise typer.BadParameter("--dev is missing: the weights of a pool are compared on held-out data")
    if searches.over and searches.over != [WEIGHTS]:
        raise InputError(f"{path} is trained already: only its weights are searched; write --over weights")
    if kept.results or kept.plot or searches.method == "evidence":
        raise typer.BadParameter(
            "a search for the weights of a pool has no --results, --plot or --method evidence"
        )
