"""`fieldcraft graph predict`: the labels of nodes."""

from __future__ import annotations

import csv
import io
import json as json_
from typing import Annotated

from fieldcraft.cli.node_models import Edges, Nodes
from fieldcraft.cli.options import Jobs, Json, Model, Output, Quiet, panel

EXAMPLES = [
    "fieldcraft graph predict papers.fc papers.csv cites.csv > labels.csv",
    "fieldcraft graph predict papers.fc papers.csv cites.csv --marginals -o labels.csv",
]
in_answers = panel("Answers")


def predict(
    model: Model,
    nodes: Nodes,
    edges: Edges,
    *,
    marginals: Annotated[
        bool, in_answers("--marginals", help="Add the probability of the label and of every label.")
    ] = False,
    json: Json = False,
    output: Output = "-",
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Label the nodes of a table together; labels that the table has are kept.

    The output is a table with the nodes' ids and labels, in the order of NODES; `--json` writes one object
    per line.
    """
    from fieldcraft.cli.node_models import load_nodes, remarks
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.corpus.targets import write_text

    keep_inputs([output], [model, nodes, edges])
    crf = load_nodes(model, jobs)
    linked = crf.read_tables(nodes, edges)
    given = linked.features, linked.relations, linked.labels
    with remarks(quiet=quiet):
        found = crf.predict(*given)
        shares = crf.predict_proba(*given) if marginals else None
    names = crf.classes_.tolist()
    rows = []
    for i, (node, label) in enumerate(zip(linked.ids, found)):
        row = {crf.tables_.id: node, crf.tables_.label: label}
        if shares is not None:
            row["probability"] = f"{shares[i, names.index(label)]:.6f}"
            row |= {f"p({name})": f"{shares[i, y]:.6f}" for y, name in enumerate(names)}
        rows.append(row)
    text = _lines(rows) if json else _table(rows)
    write_text(output, [text], "utf-8")


def _lines(rows: list[dict[str, str]]) -> str:
    """An object per row; the columns behind the label are numbers."""
    out = []
    for row in rows:
        values = [value if k < 2 else float(value) for k, value in enumerate(row.values())]
        out.append(json_.dumps(dict(zip(row, values)), ensure_ascii=False) + "\n")
    return "".join(out)


def _table(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
