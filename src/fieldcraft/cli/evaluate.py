"""`fieldcraft evaluate`: how well a model labels files whose labels are known."""

from __future__ import annotations

from fieldcraft.cli.options import Files, Jobs, Json, Metric, Model, Quiet, Tables

EXAMPLES = [
    "fieldcraft evaluate ner.fc test.conll",
    "fieldcraft evaluate ner.fc test.conll --metric span_f --json",
]


def evaluate(
    model: Model,
    files: Files = ["-"],  # noqa: B006
    *,
    metric: Metric = None,
    json: Json = False,
    reading: Tables,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Label files whose labels are known and score the result, as conlleval does."""
    del quiet
    from fieldcraft.cli.loading import load_model, reading_of
    from fieldcraft.cli.reading import read_corpora
    from fieldcraft.cli.reporting import print_scores
    from fieldcraft.cli.several_columns import print_columns

    crf = load_model(model, jobs, files)
    corpus, _ = read_corpora(files, {"label": "auto", **reading_of(crf, reading)})
    if isinstance(crf.classes_, dict):
        print_columns(crf, corpus, metric=metric, json=json)
        return
    print_scores(corpus.labels, list(crf.predict(corpus)), metric=metric, json=json)
