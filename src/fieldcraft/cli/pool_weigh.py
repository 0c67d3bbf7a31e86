"""`fieldcraft pool weigh`: other weights for the members of a pool."""

from __future__ import annotations

from typing import Annotated

import typer

from fieldcraft.cli.options import Jobs, Metric, Quiet, Tables, in_reading
from fieldcraft.cli.pool_options import in_pool
from fieldcraft.cli.train import Keeps, in_file

EXAMPLES = [
    "fieldcraft pool weigh pool.fc --on dev.conll --by likelihood -o weighed.fc",
    "fieldcraft pool weigh pool.fc --on dev.conll --by metric -o weighed.fc",
]


def weigh(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool that `pool train` or `combine` wrote.")],
    *,
    on: Annotated[
        list[str], in_reading("--on", metavar="FILE", help="Labelled file that the members have not seen.")
    ],
    output: Annotated[str, in_file("--output", "-o", metavar="MODEL", help="Where the pool goes.")],
    by: Annotated[
        str, in_pool(metavar="likelihood|metric", help="What the weights maximise.")
    ] = "likelihood",
    dirichlet: Annotated[
        float | None, in_pool(min=1, help="With likelihood: strength of a Dirichlet prior; 1 is none.")
    ] = None,
    metric: Metric = None,
    reading: Tables,
    keeps: Keeps,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Find the weights of the members that are best on held-out files, and write the pool with them."""
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.pool_options import load_pool, say_saved
    from fieldcraft.cli.reading import read_corpora

    check_outputs([output], [pool, *on])
    loaded = load_pool(pool, jobs)
    corpus, _ = read_corpora(on, {"label": "auto", **reading_of(loaded, reading)})
    if metric is not None:
        loaded.metric = metric
    if dirichlet is not None:
        loaded.dirichlet = dirichlet
    loaded.weigh(corpus, by=by)
    loaded.save(output, compact=keeps.compact, float32=keeps.float32)
    say_saved(loaded, output, quiet=quiet)
