"""`fieldcraft graph infer`: log Z and marginals of a factor graph."""

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
    "fieldcraft graph infer model.uai",
    "fieldcraft graph infer model.uai --evidence seen.evid --method propagation --json",
]


def infer(
    file: File,
    *,
    evidence: Evidence = None,
    method: Annotated[
        str,
        in_method(help="{fieldcraft.structures.graphs.methods:INFERENCES}.", **named(METHODS, "INFERENCES")),
    ] = "auto",
    settings: Method,
    json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Print log Z of a factor graph and the probability of each variable's states.

    It says whether the numbers are exact, a bound or an estimate, and whether a method converged; where
    it did not, a warning is printed and the exit status is 0.
    """
    del quiet
    from fieldcraft.structures.graph import FactorGraph

    graph = FactorGraph.read(file, evidence)
    answer = graph.infer(method, n_jobs=jobs, **options_of("infer", method, settings, seed))
    warn_if_unconverged(answer)
    if json:
        facts = {
            "log_partition": number(float(answer.log_partition)),
            "bound": answer.bound,
            "converged": answer.converged,
            "iterations": answer.iterations,
            "residual": number(answer.residual),
            "method": answer.method,
            "why": answer.why,
            "variables": [vector.tolist() for vector in answer.variables],
        }
        print(json_.dumps(facts))
        return
    print(f"log Z = {answer.log_partition:.10g} ({answer.bound})")
    print(f"{answer.method}: {answer.why}")
    for v, vector in enumerate(answer.variables):
        print(v, *(f"{p:.6f}" for p in vector), sep="\t")
