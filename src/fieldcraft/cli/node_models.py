"""What the commands on models of nodes share: their arguments, reading, and remarks on inexact answers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from fieldcraft.errors import ModelFileError

Nodes = Annotated[
    str,
    typer.Argument(metavar="NODES", help="Table of nodes: a CSV, TSV or Parquet file.", show_default=False),
]
Edges = Annotated[
    str, typer.Argument(metavar="EDGES", help="Table of edges, in the same formats.", show_default=False)
]
NODE_MODELS = ("collective",)  # kinds of models
ELSEWHERE = ("graph", "multi_label")  # kinds that the shell cannot give their input


def labels_nodes(model: Any) -> bool:
    """Whether a model labels the nodes of tables."""
    from fieldcraft.models.kinds import kind_of

    return kind_of(model) in NODE_MODELS


def refuse_nodes(model: Any, path: str) -> None:
    """A ModelFileError where a model does not label sequences."""
    from fieldcraft.models.kinds import kind_of

    kind = kind_of(model)
    if kind in NODE_MODELS:
        raise ModelFileError(
            f"{path} labels the nodes of a graph, not sequences; use: "
            f"fieldcraft graph predict {path} NODES EDGES"
        )
    if kind in ELSEWHERE:
        raise ModelFileError(
            f"{path} has a {type(model).__name__}, whose input is not made of sequences; load it in Python"
        )


def load_nodes(path: str, jobs: int | None) -> Any:
    """A model of nodes that knows tables."""
    from fieldcraft.cli.loading import load_model

    model = load_model(path, jobs, nodes=True)
    if not labels_nodes(model):
        raise ModelFileError(f"{path} has a {type(model).__name__}, which does not label nodes; use tag")
    if model.tables_ is None:
        raise ModelFileError(
            f"{path} was trained on arrays and does not know tables; train it with fieldcraft graph train"
        )
    return model


@contextmanager
def remarks(*, quiet: bool = False) -> Iterator[None]:
    """Warnings of Python, about answers that are not exact, as lines on standard error."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(one.message) for one in met):
        if not quiet:
            print(f"warning: {text}", file=sys.stderr)


def evaluate_nodes(
    model: Any, path: str, files: list[str], given: str | None, *, metric: str | None, json: bool
) -> None:
    """Score a model of nodes on a table whose labels are known."""
    from fieldcraft.cli.reporting import print_scores
    from fieldcraft.errors import InputError

    if len(files) != 2:
        raise InputError(f"{path} labels nodes; give their table and that of the edges: {path} NODES EDGES")
    tables = load_nodes(path, model.n_jobs).tables_
    linked = tables.read(*files)
    kept = [None] * len(linked.ids) if given is None else model.read_tables(*files, label=given).labels
    with remarks():
        found = model.predict(linked.features, linked.relations, kept)
    pairs = [(a, b) for a, b, c in zip(linked.labels, found, kept) if a is not None and c is None]
    if not pairs:
        raise InputError(f"{files[0]}: no node has a label in column {tables.label!r} that could be compared")
    gold, predicted = zip(*pairs)
    print_scores([[one] for one in gold], [[one] for one in predicted], metric=metric, json=json)
