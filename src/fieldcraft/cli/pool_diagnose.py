"""`fieldcraft pool diagnose`: how good and how diverse the members of a pool are."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer

from fieldcraft.cli.options import Files, Jobs, Json, Quiet, Tables, in_reading

EXAMPLES = [
    "fieldcraft pool diagnose pool.fc dev.conll",
    "fieldcraft pool diagnose pool.fc dev.conll --unlabelled test.conll --json",
]


def diagnose(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool that `pool train` or `combine` wrote.")],
    files: Files = ["-"],  # noqa: B006
    *,
    unlabelled: Annotated[
        list[str] | None,
        in_reading("--unlabelled", metavar="FILE", help="Take the ambiguity from here; labels are not read."),
    ] = None,
    json: Json = False,
    reading: Tables,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Show the ambiguity decomposition of a pool on labelled files: its error is E - A.

    E is the weighted error of the members, A how much they differ from the pool; both in nats per sequence. A
    needs no labels: with `--unlabelled` it is measured on other files, and K = E - A is an estimate.
    """
    del quiet
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.pool_options import load_pool
    from fieldcraft.cli.reading import read_corpora
    from fieldcraft.pools.diversity import decomposed, diversity
    from fieldcraft.terminal import visible_lines

    loaded = load_pool(pool, jobs)
    arguments = {"label": "auto", **reading_of(loaded, reading)}
    result = diversity(loaded, read_corpora(files, arguments)[0])
    facts, text = result.to_dict(), str(result)
    if unlabelled:
        other, _ = read_corpora(unlabelled, {**arguments, "optional_label": True})
        apart = decomposed(loaded, other, None)
        estimate = (result.E or 0.0) - apart.A
        facts["unlabelled"] = {"sequences": apart.n_sequences, "A": apart.A, "K": estimate}
        text += f"\nunlabelled: A = {apart.A:.4f} ({apart.n_sequences:,} sequences), E - A = {estimate:.4f}"
    print(json_.dumps(facts, ensure_ascii=False, indent=2) if json else visible_lines(text))
