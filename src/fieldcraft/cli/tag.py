"""`fieldcraft tag`: label files or a stream, in constant memory and without delay."""

from __future__ import annotations

from typing import Annotated, Any

from fieldcraft.cli.options import Files, Jobs, Json, Model, Output, Quiet, Tables, Text, in_writing, panel

EXAMPLES = [
    "fieldcraft tag ner.fc test.conll > tagged.conll",
    "cat test.conll | fieldcraft tag ner.fc --confidence | head -3",
    "fieldcraft tag ner.fc test.conll --json --k-best 3 -o tagged.jsonl",
    "echo 'at_most 1 PER' > r.txt; fieldcraft tag ner.fc test.conll --constraints r.txt",
    "fieldcraft tag ner.fc test.conll dev.conll --output-dir tagged",
    "echo 'Ada spoke in Zurich .' | fieldcraft tag words.fc --text",
]
in_answers = panel("Answers")

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
        help="Rules that labels must obey, one per line (at_most 1 city …); the model's own by default.",
    ),
]
OutputDir = Annotated[
    str | None,
    in_writing(
        "--output-dir",
        metavar="FOLDER",
        help="Write each file, and each file below a folder, to a file of its name in FOLDER.",
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
    output_dir: OutputDir = None,
    reading: Tables,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Label sequences: the columns that were read, and behind them a column with the predicted labels.

    A gold label column is kept where there is one. `--confidence` adds a column with each label's
    probability, `--marginals` one per label (LABEL:PROBABILITY), `--k-best N` has N columns of labels.
    CoNLL-U and attribute files get the prediction in the label's place. Where no labelling obeys the
    constraints, labels are those without them, and a warning counts such sequences; `--json` says whether
    labels are proved to be the best (optimal, gap).

    `mpiexec -n 4 fieldcraft tag MODEL FOLDER --output-dir OUT` divides the files among 4 processes.
    """
    del quiet
    from fieldcraft.cli.answers import Answers
    from fieldcraft.cli.folders import work_of
    from fieldcraft.cli.loading import load_model
    from fieldcraft.cli.ranks import agreed, joined
    from fieldcraft.cli.rules import read_constraints
    from fieldcraft.cli.several_columns import SeveralColumns

    with joined() as ranks:
        others = [model, *([] if constraints is None else [constraints])]
        work = work_of(others, files, output, output_dir, ranks)
        with agreed(ranks):
            rules = read_constraints(constraints)
            crf = load_model(model, jobs, files)
            rules = getattr(crf, "constraints", None) if rules is None else rules
            kind = SeveralColumns if isinstance(crf.classes_, dict) else Answers
            answers = kind(crf, confidence=confidence, marginals=marginals, k_best=k_best, constraints=rules)
            for names, target in work:
                _tag(answers, names, target, reading, text=text, json=json)
            answers.lapses.tell()


def _tag(answers: Any, files: list[str], output: str, reading: Tables, *, text: bool, json: bool) -> None:
    """Tag some files; their sequences go to one output."""
    from fieldcraft.cli.loading import reading_of
    from fieldcraft.cli.reading import read_batches
    from fieldcraft.cli.texts import read_texts
    from fieldcraft.corpus.targets import opened

    with opened(output) as target:

        def write(stream: Any, sequences: list[Any]) -> None:
            (answers.write_json if json else answers.write)(stream, sequences, target)
            target.flush()

        for name in files:
            if text:
                read_texts(name, answers.crf, write, encoding=reading.encoding or "utf-8")
            else:
                read_batches(name, {**reading_of(answers.crf, reading), "optional_label": True}, write)
