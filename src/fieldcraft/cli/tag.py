"""`fieldcraft tag`: label files or a stream, in constant memory and without delay."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fieldcraft.cli.options import Files, Jobs, Json, Model, Output, Quiet, Reading, panel

EXAMPLES = [
    "fieldcraft tag ner.fc test.conll > tagged.conll",
    "cat test.conll | fieldcraft tag ner.fc --confidence | head -3",
    "fieldcraft tag ner.fc test.conll --json --k-best 3 -o tagged.jsonl",
    "echo 'at_most 1 PER' > r.txt; fieldcraft tag ner.fc test.conll --constraints r.txt",
    "echo 'Ada spoke in Zurich .' | fieldcraft tag words.fc --text",
]
in_answers = panel("Answers")

Text = Annotated[
    bool, typer.Option("--text", help="Each line is a raw text, cut into tokens by the model's rule.")
]
Confidence = Annotated[
    bool,
    in_answers(
        "--confidence", help="Add the probability of each label; with --json also of each span and sequence."
    ),
]
Marginals = Annotated[bool, in_answers("--marginals", help="Add the probability of every label.")]
Constraints = Annotated[
    str | None,
    in_answers(
        "--constraints",
        metavar="FILE",
        help="What the labels must obey, one rule a line (at_most 1 city …); the model's own by default.",
    ),
]
KBest = Annotated[int | None, in_answers("--k-best", metavar="N", min=1, help="Give the N best labellings.")]


def tag(
    model: Model,
    files: Files = ["-"],  # noqa: B006
    *,
    text: Text = False,
    confidence: Confidence = False,
    marginals: Marginals = False,
    k_best: KBest = None,
    constraints: Constraints = None,
    json: Json = False,
    output: Output = "-",
    reading: Reading,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Label sequences: the columns that were read, and behind them a column with the predicted labels.

    A gold label column is kept where there is one. `--confidence` adds a column with each label's
    probability, `--marginals` one per label (LABEL:PROBABILITY), `--k-best N` has N columns of labels.
    CoNLL-U and attribute files get the prediction in the label's place. Where no labelling obeys the
    constraints, labels are those without them, and a warning counts such sequences; `--json` says whether
    labels are proved to be the best (optimal, gap).
    """
    del quiet
    from fieldcraft.cli.answers import Answers
    from fieldcraft.cli.loading import load_model, reading_of
    from fieldcraft.cli.outputs import keep_inputs
    from fieldcraft.cli.reading import read_batches
    from fieldcraft.cli.rules import read_constraints
    from fieldcraft.cli.texts import read_texts
    from fieldcraft.corpus.targets import opened

    keep_inputs([output], [model, *files, *([] if constraints is None else [constraints])])
    rules = read_constraints(constraints)
    crf = load_model(model, jobs)
    rules = getattr(crf, "constraints", None) if rules is None else rules
    answers = Answers(crf, confidence=confidence, marginals=marginals, k_best=k_best, constraints=rules)
    with opened(output) as target:

        def write(stream: Any, sequences: list[Any]) -> None:
            (answers.write_json if json else answers.write)(stream, sequences, target)
            target.flush()

        for name in files:
            if text:
                read_texts(name, crf, write, encoding=reading.encoding or "utf-8")
            else:
                read_batches(name, {**reading_of(crf, reading), "optional_label": True}, write)
    answers.lapses.tell()
