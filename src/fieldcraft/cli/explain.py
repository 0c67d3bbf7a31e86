"""`fieldcraft explain`: the features behind the label of a token."""

from __future__ import annotations

from itertools import chain, islice
from typing import Annotated, Any

import typer

from fieldcraft.cli.inspect import in_shown
from fieldcraft.cli.options import Html, Json, Model, Quiet, Reading, Text
from fieldcraft.errors import InputError

EXAMPLES = [
    "fieldcraft explain ner.fc test.conll --sequence 2 --token 0",
    "echo 'Ada spoke in Zurich .' | fieldcraft explain words.fc --text --top 3",
    "fieldcraft explain ner.fc test.conll --json",
    "fieldcraft explain papers.fc papers.csv cites.csv --node p3",
]


def explain(
    model: Model,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to read; - or none is standard input.")
    ] = "-",
    edges: Annotated[
        str | None,
        typer.Argument(metavar="[EDGES]", help="Of node models: the table of edges; FILE is that of nodes."),
    ] = None,
    *,
    text: Text = False,
    sequence: Annotated[int, in_shown(min=0, help="Number of the sequence, from 0.")] = 0,
    token: Annotated[int | None, in_shown(min=0, help="Number of the token, from 0.")] = None,
    node: Annotated[str | None, in_shown(metavar="ID", help="Of node models: the node's id.")] = None,
    against: Annotated[
        str | None, in_shown(help="Label to compare with; the second-best by default.")
    ] = None,
    top: Annotated[int, in_shown(min=1, help="Features per token.")] = 10,
    json: Json = False,
    html: Html = None,
    reading: Reading,
    quiet: Quiet = False,
) -> None:
    """Show why tokens got their labels: each feature's vote against the runner-up.

    For models of nodes (`graph train`): the votes of a node's features and neighbours.
    """
    del quiet
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.cli.reporting import show

    keep_inputs([html], [model, file, edges])
    if node is not None:
        show(_explained_node(model, file, edges, node, against, top), json=json, html=html)
        return
    if edges is not None:
        raise InputError(f"{edges}: a second file is for models of nodes, with --node ID; leave it out")
    crf = load_model(model, None, [file])
    chosen = _sequence(crf, file, sequence, reading, text=text)
    show(crf.explain(chosen, token=token, label=against, top=top), json=json, html=html)


def _explained_node(
    model: str, nodes: str, edges: str | None, node: str, against: str | None, top: int
) -> Any:
    from fieldcraft.cli.node_models import load_nodes, remarks

    crf = load_nodes(model, None)
    if edges is None:
        raise InputError("--node needs both tables: MODEL NODES EDGES")
    with remarks():
        return crf.explain_node(nodes, edges, node, against=against, top=top)


def _sequence(crf: Any, file: str, number: int, reading: Reading, *, text: bool) -> Any:
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.texts import reader_of
    from fieldcraft.corpus import read
    from fieldcraft.corpus.sources import Source

    sequences: Any
    if text:
        source = Source(file, reading.encoding or "utf-8")
        sequences = map(reader_of(crf).sequence, chain.from_iterable(source.batches()))
    else:
        sequences = read(file, lazy=True, optional_label=True, **reading_of(crf, reading))
    chosen = next(islice(sequences, number, None), None)
    if chosen is None:
        name = "<stdin>" if file == "-" else file
        raise InputError(f"{name} has no sequence {number}; they are counted from 0")
    return chosen
