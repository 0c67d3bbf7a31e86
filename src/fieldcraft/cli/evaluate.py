"""`fieldcraft evaluate`: how well a model labels files whose labels are known."""

from __future__ import annotations

from typing import Annotated

from fieldcraft.cli.options import Files, Jobs, Json, Metric, Model, Quiet, Tables, in_scoring
from fieldcraft.errors import InputError

EXAMPLES = [
    "fieldcraft evaluate ner.fc test.conll",
    "fieldcraft evaluate ner.fc test.conll --metric span_f --json",
    "fieldcraft evaluate papers.fc papers.csv cites.csv --given known",
]


def evaluate(
    model: Model,
    files: Files = ["-"],  # noqa: B006
    *,
    metric: Metric = None,
    given: Annotated[
        str | None,
        in_scoring(
            "--given",
            metavar="NAME",
            help="Of node models: a column with labels that are known beforehand, which do not count.",
        ),
    ] = None,
    json: Json = False,
    reading: Tables,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Label files whose labels are known and score the result, as conlleval does.

    Models of nodes (`graph train`) take two files, the tables of nodes and edges.
    """
    del quiet
    from fieldcraft.cli.loading import load_model, reading_of
    from fieldcraft.cli.node_models import evaluate_nodes, labels_nodes, refuse_nodes
    from fieldcraft.cli.reading import read_corpora
    from fieldcraft.cli.reporting import print_scores
    from fieldcraft.cli.several_columns import print_columns

    crf = load_model(model, jobs, files, nodes=True)
    if labels_nodes(crf):
        evaluate_nodes(crf, model, files, given, metric=metric, json=json)
        return
    refuse_nodes(crf, model)
    if given is not None:
        raise InputError("--given is for models of nodes; leave it out")
    corpus, _ = read_corpora(files, {"label": "auto", **reading_of(crf, reading)})
    if isinstance(crf.classes_, dict):
        print_columns(crf, corpus, metric=metric, json=json)
        return
    print_scores(corpus.labels, list(crf.predict(corpus)), metric=metric, json=json)
