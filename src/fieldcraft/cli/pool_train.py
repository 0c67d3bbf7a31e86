"""`fieldcraft pool train`: a pool of experts from labelled files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from fieldcraft.cli.options import Jobs, Metric, Quiet, Seed, Tables, in_reading
from fieldcraft.cli.pool_options import Cooperation, Linear, Per, Product, Weights, in_pool
from fieldcraft.cli.train import Keeps, Learns, Looks, Stops, in_file, in_stopping

EXAMPLES = [
    "fieldcraft pool train train.conll --templates 'c0[-1..1]' --prior none -o pool.fc",
    "fieldcraft pool train train.conll --templates c0 --experts bagged:3 -o bags.fc",
    "fieldcraft pool train train.conll --dev dev.conll --columns word,pos,ner -o dev.fc",
    "fieldcraft pool train train.conll --templates 'c0[-1..1]' --cooperative -o both.fc",
]


@dataclass
class Ends:
    """When a training stops: that of a member, or of all together."""

    max_iterations: Annotated[
        int | None,
        in_stopping(
            "--max-iterations", "--epochs", min=0, help="Stop each training after this many iterations."
        ),
    ] = None
    patience: Annotated[
        int | None,
        in_stopping(min=1, help="Stop a training after this many --dev scores without an improvement."),
    ] = None
    keep_best: Annotated[
        bool, in_stopping("--keep-best", help="Keep the iteration with the best --dev score.")
    ] = False
    score_every: Annotated[
        int | None, in_stopping(metavar="K", min=1, help="Score --dev every K iterations.")
    ] = None


def train(
    files: Annotated[list[str], typer.Argument(metavar="TRAIN", help="Labelled files; - is standard input.")],
    *,
    output: Annotated[str, in_file("--output", "-o", metavar="MODEL", help="Where the pool goes.")],
    dev: Annotated[
        list[str] | None,
        in_reading("--dev", metavar="FILE", help="Held-out file: scores as training goes on, and weights."),
    ] = None,
    experts: Annotated[
        str,
        in_pool(
            metavar="NAME[:K]",
            help="label, positional, simple, random:K, bagged:K, partitioned:K or boosted:K.",
        ),
    ] = "positional",
    weights: Weights = "uniform",
    product: Product = False,
    linear: Linear = False,
    per: Per = "sequence",
    parallel: Annotated[
        bool, in_pool("--parallel", help="Train the members in --jobs processes (needs joblib).")
    ] = False,
    cooperation: Cooperation,
    reading: Tables,
    looks: Looks,
    learns: Learns,
    ends: Ends,
    metric: Metric = "auto",
    keeps: Keeps,
    jobs: Jobs = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train experts on the same files and write their pool, an ordinary model file.

    The files are encoded once. `tag`, `evaluate`, `inspect` and `explain` take the pool as any model.

    `mpiexec -n 4 fieldcraft pool train … --cooperative` deals the members to 4 processes.
    """
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.pool_options import make_pool, read_weights, say_saved
    from fieldcraft.cli.ranks import agreed, check_ranks, joined, read_whole
    from fieldcraft.cli.summary import Report
    from fieldcraft.cli.training import make_model
    from fieldcraft.cli.wording import check_columns
    from fieldcraft.errors import InputError
    from fieldcraft.pools.experts import by_name
    from fieldcraft.pools.parallel import workers
    from fieldcraft.pools.weights import HELD_OUT

    report = Report(quiet=quiet)
    settings = {"metric": metric, "n_jobs": jobs, "random_state": seed}
    chosen = {"weights": read_weights(weights), "per": per, "cooperation": cooperation, **settings}
    with joined() as ranks:
        with agreed(ranks):
            check_ranks(ranks, cooperative=cooperation.cooperative, parallel=parallel)
            check_outputs([output], [*files, *(dev or ()), *looks.files()])
            if chosen["weights"] == HELD_OUT and not dev:
                raise InputError("--weights held-out are chosen by a score on held-out data; add --dev FILE")
            stops = Stops(max_iterations=ends.max_iterations)
            crf = make_model(looks, learns, stops, partial=False, **settings)
            pool = make_pool(by_name(crf, experts), linear=linear, product=product, **chosen)
            if cooperation.cooperative:
                pool.set_params(max_iterations=ends.max_iterations)
        corpus, held_out, source = read_whole(ranks, files, dev, reading.arguments())
        check_columns(corpus, looks.templates)
        report.corpora(corpus, held_out)
        with workers(jobs, wanted=parallel):
            pool.fit(
                corpus,
                X_dev=held_out,
                score_every=ends.score_every,
                patience=ends.patience,
                keep_best=ends.keep_best,
                callbacks=[] if parallel else [report],
                parallel=parallel,
                **({} if ranks is None else {"ranks": ranks}),
            )
        pool.source_ = source
        with agreed(ranks):
            if ranks is None or ranks.rank == 0:
                pool.save(output, compact=keeps.compact, float32=keeps.float32)
        say_saved(pool, output, quiet=quiet)
