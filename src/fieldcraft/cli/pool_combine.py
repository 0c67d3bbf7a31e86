"""`fieldcraft pool combine`: one model from several model files."""

from __future__ import annotations

from typing import Annotated

import typer

from fieldcraft.cli.options import Jobs, Quiet
from fieldcraft.cli.pool_options import Linear, Per, Product, Weights
from fieldcraft.cli.train import Keeps, in_file

EXAMPLES = [
    "fieldcraft pool combine ner.fc small.fc --weights 0.6,0.4 -o both.fc",
    "fieldcraft pool combine ner.fc small.fc --linear -o mixture.fc",
]


def combine(
    models: Annotated[list[str], typer.Argument(metavar="MODELS", help="Model files with the same labels.")],
    *,
    output: Annotated[str, in_file("--output", "-o", metavar="MODEL", help="Where the pool goes.")],
    weights: Weights = "uniform",
    product: Product = False,
    linear: Linear = False,
    per: Per = "sequence",
    keeps: Keeps,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Pool trained models: the weighted product of their distributions is again one model.

    The models may have different features. `pool weigh` finds better weights on held-out data.
    """
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.cli.pool_options import make_pool, read_weights, say_saved
    from fieldcraft.errors import InputError
    from fieldcraft.pools.weights import LEARNT

    check_outputs([output], models)
    given = read_weights(weights)
    if isinstance(given, str) and given in LEARNT:
        raise InputError(f"--weights {weights} needs data: combine first, then `fieldcraft pool weigh`")
    members = {path: load_model(path, jobs) for path in models}
    pool = make_pool(members, linear=linear, product=product, weights=given, per=per, n_jobs=jobs)
    pool._require_fitted()
    sources = [getattr(member, "source_", None) for member in members.values()]
    pool.source_ = next((source for source in sources if source), None)
    pool.save(output, compact=keeps.compact, float32=keeps.float32)
    say_saved(pool, output, quiet=quiet)
