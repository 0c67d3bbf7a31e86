"""`fieldcraft graph show`: what a factor graph is like, and a picture of it."""

from __future__ import annotations

from typing import Annotated

from fieldcraft.cli.graph_options import Evidence, File
from fieldcraft.cli.options import Json, Quiet, in_writing

EXAMPLES = ["fieldcraft graph show model.uai", "fieldcraft graph show model.uai -o model.svg"]


def show(
    file: File,
    *,
    evidence: Evidence = None,
    output: Annotated[
        str | None, in_writing("--output", "-o", metavar="FILE", help="Draw it into a PNG or SVG file.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how many variables and factors a graph has, and how wide its junction tree is.

    The width says which methods are feasible: exact ones need as much memory as the tables of the cliques.
    """
    del quiet
    import json as json_

    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.structures.graph import FactorGraph

    check_outputs([output], [file, evidence])
    graph = FactorGraph.read(file, evidence)
    facts = graph.width()
    if output is not None:
        graph.draw(output)
    if json:
        listed = {
            "variables": graph.n_variables,
            "factors": graph.n_factors,
            "observed": int((graph.observed >= 0).sum()),
        }
        print(json_.dumps(listed | facts._asdict()))
        return
    print(graph)
    kind = "no cycle" if facts.forest else "cycles"
    least = "" if facts.complete else "at least "
    print(f"{kind}; the largest clique of its junction tree has {least}{facts.variables} variables")
    print(f"the tables of the junction tree take {least}{facts.bytes:,.0f} bytes")
