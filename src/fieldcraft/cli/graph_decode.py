"""`fieldcraft graph decode`: a best assignment of a factor graph."""

from __future__ import annotations

import json as json_
from typing import Annotated

from fieldcraft.cli.graph_options import (
    METHODS,
    Evidence,
    File,
    Method,
    in_method,
    number,
    options_of,
    warn_if_unconverged,
)
from fieldcraft.cli.options import Jobs, Json, Quiet, Seed, named

EXAMPLES = [
    "fieldcraft graph decode model.uai",
    "fieldcraft graph decode model.uai --method dual_decomposition --json",
]


def decode(
    file: File,
    *,
    evidence: Evidence = None,
    method: Annotated[
        str,
        in_method(help="{fieldcraft.structures.graphs.methods:DECODINGS}.", **named(METHODS, "DECODINGS")),
    ] = "auto",
    settings: Method,
    json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Print an assignment with a high score, and how far from the best it may be.

    The gap is a proved upper bound on the best score, less the score that was found; 0 means optimal.
    """
    del quiet
    from fieldcraft.structures.graph import FactorGraph

    graph = FactorGraph.read(file, evidence)
    answer = graph.decode(method, n_jobs=jobs, **options_of("decode", method, settings, seed))
    warn_if_unconverged(answer)
    if json:
        facts = {
            "assignment": answer.assignment.tolist(),
            "value": number(answer.value),
            "gap": number(answer.gap),
            "optimal": answer.optimal,
            "converged": answer.converged,
            "iterations": answer.iterations,
            "method": answer.method,
            "why": answer.why,
        }
        print(json_.dumps(facts))
        return
    state = "optimal" if answer.optimal else f"at most {answer.gap:.6g} below the best"
    print(f"score = {answer.value:.10g} ({state})")
    print(f"{answer.method}: {answer.why}")
    print(*answer.assignment.tolist())
