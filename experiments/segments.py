"""Segments against chains: chunks with the same features of tokens, entities with lists of names.

    python -m experiments.segments [chunks] [entities] [--data FOLDER] [--iterations N] [--sentences N]

chunks     CoNLL-2000. The chain has the template set "a2"; SegmentCRF the same and lengths.
entities   CoNLL-2003 in IOB2, test set B. The chain has "entities-gazetteers", whose lists match words
           exactly; SegmentCRF the same, and for whole segments their length, text, shape and how near they
           are to an entry of each list (cosine of character trigrams).

Both models of a task have the same Gaussian prior and optimiser. The difference in F is tested by bootstrap
over sentences (fc.compare). The report goes to experiments/results/segments-TASK.md.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import fieldcraft as fc
from experiments.gazetteers import FILES, gazetteers
from fieldcraft.corpus.schemes import convert

RESULTS = Path(__file__).parent / "results"
WHOLE = ["segment.length", "segment.text", "segment.shape"]


class Data(NamedTuple):
    """Sequences and labels to train on and to test on."""

    train: Any
    y_train: Any
    test: Any
    y_test: Any


def chunks(data: Path, n: int | None) -> tuple[Data, dict[str, Any], dict[str, Any]]:
    """The corpus, and the settings of the chain and of the segments."""
    columns = {"columns": ["word", "pos", "chunk"], "label": "chunk"}
    train, test = (fc.read(data / "conll2000" / name, **columns)[:n] for name in ("train.txt.gz", "test.txt"))
    chain: dict[str, Any] = {"templates": "a2"}
    return (
        Data(train, train.labels, test, test.labels),
        chain,
        {**chain, "segment_templates": "segment.length"},
    )


def entities(data: Path, n: int | None) -> tuple[Data, dict[str, Any], dict[str, Any]]:
    """The same for entities."""
    columns = {"columns": ["word", "pos", "chunk", "ner"], "label": "ner"}
    train, test = (
        fc.read(data / "conll2003" / name, **columns)[:n] for name in ("eng.train.gz", "eng.testb")
    )
    labels = [convert(part.labels, "iob1", "iob2") for part in (train, test)]
    chain: dict[str, Any] = {"templates": "entities-gazetteers", "gazetteers": gazetteers(data)}
    whole = "\n".join([*WHOLE, *(f"near({name}, word)" for name in FILES)])
    return Data(train, labels[0], test, labels[1]), chain, {**chain, "segment_templates": whole}


TASKS = {"chunks": chunks, "entities": entities}


def run(task: str, data: Path, *, iterations: int, variance: float, sentences: int | None) -> str:
    """Train and test both; the report."""
    corpus, chain, segments = TASKS[task](data, sentences)
    learning = {"prior": fc.Gaussian(variance=variance), "optimiser": fc.LBFGS(max_iterations=iterations)}
    models = {"chain": fc.ChainCRF(**chain, **learning), "segments": fc.SegmentCRF(**segments, **learning)}
    rows, predicted = [], {}
    for name, model in models.items():
        begun, used = time.monotonic(), time.process_time()
        model.fit(corpus.train, corpus.y_train)
        took = time.monotonic() - begun, time.process_time() - used
        predicted[name] = list(model.predict(corpus.test))
        f = fc.metrics.span_scores(corpus.y_test, predicted[name]).f
        rows.append(f"| {name} | {100 * f:.2f} | {len(model.weights_):,} | {took[0]:.0f} | {took[1]:.0f} |")
    test = fc.compare(corpus.y_test, predicted["chain"], predicted["segments"], metric="span_f")
    return "\n".join(
        [
            f"# Segments against the chain: {task}",
            "",
            f"`python -m experiments.segments {task} --iterations {iterations} --variance {variance:g}`",
            "",
            f"{len(corpus.train)} sentences to train on, {len(corpus.test)} to test on.",
            "",
            "| model | F | weights | seconds | processor seconds |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "```",
            str(test),
            "```",
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run the tasks that were named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m experiments.segments", description=__doc__)
    parser.add_argument("tasks", nargs="*", default=[*TASKS])
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of the datasets")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--variance", type=float, default=10.0)
    parser.add_argument("--sentences", type=int, help="of each part, to see that it runs")
    options = parser.parse_args(arguments)
    for task in options.tasks:
        settings = {"iterations": options.iterations, "variance": options.variance}
        report = run(task, options.data, sentences=options.sentences, **settings)
        print(report)
        if options.sentences is None:
            (RESULTS / f"segments-{task}.md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
