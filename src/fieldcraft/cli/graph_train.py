"""`fieldcraft graph train`: a model of linked rows from a table of nodes and a table of edges."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from fieldcraft.cli.node_models import Edges, Nodes
from fieldcraft.cli.options import Jobs, Quiet, Seed, in_reading, in_writing, named, panel

EXAMPLES = [
    "fieldcraft graph train papers.csv cites.csv --label topic --leave known -o papers.fc",
    "fieldcraft graph train papers.csv cites.csv --label topic --words title -o texts.fc",
]
in_learning = panel("Learning")


def train(
    nodes: Nodes,
    edges: Edges,
    *,
    id: Annotated[str, in_reading("--id", metavar="NAME", help="Column of NODES with their ids.")] = "id",
    source: Annotated[
        str, in_reading("--source", metavar="NAME", help="Column of EDGES with the id of one end.")
    ] = "source",
    target: Annotated[
        str, in_reading("--target", metavar="NAME", help="Column of EDGES with the id of the other end.")
    ] = "target",
    label: Annotated[
        str, in_reading("--label", metavar="NAME", help="Column of NODES; empty where unknown.")
    ] = "label",
    words: Annotated[
        str, in_reading("--words", metavar="NAMES", help="Columns of NODES with texts, whose words count.")
    ] = "",
    leave: Annotated[
        str, in_reading("--leave", metavar="NAMES", help="Columns of NODES that are no features.")
    ] = "",
    relation: Annotated[
        str | None,
        in_reading("--relation", metavar="NAME", help="Column of EDGES with their kind; each has weights."),
    ] = None,
    output: Annotated[str, in_writing("--output", "-o", metavar="MODEL", help="Model file to write.")],
    tying: Annotated[
        str,
        in_learning(
            help="Weights of a link: {fieldcraft.structures.cliques:TYINGS}.",
            **named("fieldcraft.structures.cliques", "TYINGS"),
        ),
    ] = "same",
    inference: Annotated[
        str,
        in_learning(
            help="{fieldcraft.structures.graphs.methods:INFERENCES}.",
            **named("fieldcraft.structures.graphs.methods", "INFERENCES"),
        ),
    ] = "auto",
    objective: Annotated[
        str | None,
        in_learning(
            help="Loss on the data, chosen by the labels by default: {fieldcraft.objectives:FOR_GRAPHS}.",
            **named("fieldcraft.objectives", "FOR_GRAPHS"),
        ),
    ] = None,
    optimiser: Annotated[
        str,
        in_learning(
            help="auto, {fieldcraft.optimisers:OPTIMISERS}.",
            **named("fieldcraft.optimisers", "OPTIMISERS", "auto"),
        ),
    ] = "auto",
    variance: Annotated[float, in_learning(help="Of the Gaussian prior; smaller is stricter.")] = 10.0,
    max_seconds: Annotated[float | None, in_learning(min=0.0, help="Stop after this many seconds.")] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Learn to label the nodes of a graph from their columns and from the labels of their neighbours.

    NODES has a row for each node, EDGES one for each edge. Nodes without a label take part: they link
    others, and `graph predict` can label them in the same table. All columns of NODES but the id and the
    label are features: numbers, categories, and with `--words` the words of texts.
    """
    from fieldcraft.cli.node_models import remarks
    from fieldcraft.cli.outputs import check_outputs
    from fieldcraft.models.collective import CollectiveClassifier
    from fieldcraft.priors import Gaussian

    check_outputs([output], [nodes, edges])
    settings: dict[str, Any] = {"inference": inference, "objective": objective, "optimiser": optimiser}
    running: dict[str, Any] = {"n_jobs": jobs, "random_state": seed, "verbose": not quiet}
    model = CollectiveClassifier(tying, prior=Gaussian(variance=variance), **settings, **running)
    columns: dict[str, Any] = {
        "id": id,
        "source": source,
        "target": target,
        "label": label,
        "relation": relation,
    }
    lists: dict[str, Any] = {"words": names_of(words), "leave": names_of(leave)}
    with remarks():
        model.fit_tables(nodes, edges, **columns, **lists, max_seconds=max_seconds)
        model.save(output)
    if not quiet:
        print(f"{output}: {summary(model)}", file=sys.stderr)


def summary(model: Any) -> str:
    """Labels and weights of a trained model, and answers that did not converge."""
    failed = sum(record.unconverged or 0 for record in model.training_log_)
    ends = f"; {failed} answers did not converge" if failed else ""
    return f"{len(model.classes_)} labels, {len(model.weights_):,} weights{ends}"


def names_of(given: str) -> list[str]:
    """Names of columns, separated by commas.

    >>> names_of("title, abstract")
    ['title', 'abstract']
    """
    return [name.strip() for name in given.split(",") if name.strip()]
