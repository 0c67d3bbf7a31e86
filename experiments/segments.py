"""Segments against chains: chunks with the same features of tokens, entities with lists of names.

    python -m experiments.segments [chunks] [entities] [training] [--iterations N] [--seconds S]

chunks     CoNLL-2000. The chain has the template set "a2"; SegmentCRF the same and lengths.
entities   CoNLL-2003 in IOB2. Both models have "entities-gazetteers", whose lists match exactly; SegmentCRF
           also looks at whole segments, among others at their similarity to these lists
           (segment_entities.py). F on test set A chooses; on test set B the chosen ones alone are compared.
training   CoNLL-2003 with the template set "entities": both models by averaged perceptron, margins and
           likelihood, F on test set A and processor seconds.

Both models of a task have the same kind of prior and optimiser. Differences in F are tested by bootstrap
over sentences (fc.compare). Reports go to --output (experiments/results), segments-TASK.md. --predictions is
the folder of the entities' predictions: variants that it has are not trained again. With --only variants are
trained and nothing is reported. --seconds ends the list of variants that are trained.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import fieldcraft as fc
from experiments.segment_entities import MAX_LENGTH, VARIANTS, Data, entities, entities_of, table

RESULTS = Path(__file__).parent / "results"
LEARNING: dict[str, dict[str, Any]] = {
    "perceptron": {"optimiser": fc.AveragedPerceptron(max_iterations=10)},
    "margin": {"objective": "margin", "optimiser": fc.Subgradient(max_iterations=10)},
    "softmax margin": {"objective": "softmax_margin", "optimiser": fc.LBFGS(max_iterations=50)},
    "likelihood": {"optimiser": fc.LBFGS(max_iterations=50)},
}


def chunks_of(data: Path, name: str, n: int | None) -> Data:
    """A part of CoNLL-2000."""
    corpus = fc.read(data / "conll2000" / name, columns=["word", "pos", "chunk"], label="chunk")[:n]
    return Data(corpus, corpus.labels)


class Trained(NamedTuple):
    """A model and the row of a table that describes it."""

    model: Any
    row: list[str]


def trained(name: str, model: Any, train: Data) -> Trained:
    """Train a model."""
    begun, used = time.monotonic(), time.process_time()
    model.fit(*train)
    took = time.monotonic() - begun, time.process_time() - used
    return Trained(model, [name, f"{len(model.weights_):,}", f"{took[0]:.0f}", f"{took[1]:.0f}"])


def labels_and_f(model: Any, part: Data) -> tuple[list[Any], str]:
    """Predicted labels and their F, in percent."""
    labels = list(model.predict(part.X))
    return labels, f"{100 * fc.metrics.span_scores(part.y, labels).f:.2f}"


def learning(options: argparse.Namespace) -> dict[str, Any]:
    """Prior and optimiser of both models."""
    optimiser = fc.LBFGS(max_iterations=options.iterations)
    return {"prior": fc.Gaussian(variance=options.variance), "optimiser": optimiser, "n_jobs": options.jobs}


def chunks(options: argparse.Namespace) -> list[str]:
    """Train both on chunks and compare them."""
    train, test = (chunks_of(options.data, name, options.sentences) for name in ("train.txt.gz", "test.txt"))
    shared = {"templates": "a2", **learning(options)}
    models = fc.ChainCRF(**shared), fc.SegmentCRF(segment_templates="segment.length", **shared)
    rows, predicted = [], []
    for name, model in zip(("chain", "segments"), models):
        done = trained(name, model, train)
        labels, f = labels_and_f(done.model, test)
        predicted.append(labels)
        rows.append([*done.row, f])
    report = table(["model", "weights", "seconds", "processor seconds", "F"], rows)
    return [*report, "", "```", str(fc.compare(test.y, *predicted, metric="span_f")), "```"]


def training(options: argparse.Namespace) -> list[str]:
    """Both models by each way of learning."""
    train, test = (
        entities_of(options.data, name, options.sentences) for name in ("eng.train.gz", "eng.testa")
    )
    rows = []
    for name, settings in LEARNING.items():
        for kind in (fc.ChainCRF, fc.SegmentCRF):
            longest = {} if kind is fc.ChainCRF else {"max_length": MAX_LENGTH}
            model = kind("entities", n_jobs=options.jobs, **settings, **longest)
            done = trained(f"{kind.__name__}, {name}", model, train)
            rows.append([*done.row, labels_and_f(done.model, test)[1]])
            print(" | ".join(rows[-1]), flush=True)
    return table(["model", "weights", "seconds", "processor seconds", "F, test set A"], rows)


TASKS = {"chunks": chunks, "entities": entities, "training": training}


def main(arguments: list[str] | None = None) -> None:
    """Run the tasks that were named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m experiments.segments", description=__doc__)
    parser.add_argument("tasks", nargs="*", default=[*TASKS])
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of the datasets")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--variance", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, help="after which no further variant is tried")
    parser.add_argument("--sentences", type=int, help="of each part, to see that it runs")
    parser.add_argument("--jobs", type=int, help="threads")
    parser.add_argument("--predictions", type=Path, default=RESULTS / "segments-entities")
    parser.add_argument("--only", nargs="+", choices=[*VARIANTS], metavar="VARIANT", help="to train")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    for task in options.tasks:
        lines = TASKS[task](options)
        if not lines:
            continue
        how = f" --iterations {options.iterations}" if task != "training" else ""
        how += f" --variance {options.variance:g}" if task == "chunks" else ""
        how += "" if options.seconds is None else f" --seconds {options.seconds:g}"
        how += "" if options.sentences is None else f" --sentences {options.sentences}"
        head = [
            f"# Segments against the chain: {task}",
            "",
            f"`python -m experiments.segments {task}{how}`",
            "",
        ]
        report = "\n".join([*head, *lines, ""])
        print(report)
        (options.output / f"segments-{task}.md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
