"""Segments against chains: chunks with the same features of tokens, entities with lists of names.

    python -m experiments.segments [chunks] [entities] [training] [--iterations N] [--seconds S]

chunks     CoNLL-2000. The chain has the template set "a2"; SegmentCRF the same and lengths.
entities   CoNLL-2003 in IOB2. The chain has "entities-gazetteers", whose lists match exactly; SegmentCRF
           the same and, for whole segments, one of the sets of templates in VARIANTS: F on test set A chooses
           among them, and on test set B the chosen one alone is compared with the chain.
training   CoNLL-2000 with few templates (tokens, tags and their neighbours): both models by likelihood,
           averaged perceptron and margins, F and processor seconds.

Both models of a task have the same Gaussian prior and optimiser. Differences in F are tested by bootstrap
over sentences (fc.compare). Reports go to --output (experiments/results), segments-TASK.md. --seconds ends
the list of variants that are tried.
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
WHOLE = "segment.length\nsegment.text\nsegment.shape\n"
NEAR = "".join(f"near({name}, word)\n" for name in FILES)
SIDES = "first(word)\nlast(word)\nbefore(word)\nafter(word)\nsegment.lower\n"
TAGS = "before(pos)\nafter(pos)\nsegment.text(pos)\n"
VARIANTS = {
    "whole + near + sides": WHOLE + NEAR + SIDES,
    "whole + near + tags + sides": WHOLE + NEAR + TAGS + SIDES,
    "whole + near + tags": WHOLE + NEAR + TAGS,
    "whole + near": WHOLE + NEAR,
}
FEW = "columns word pos\nedge\nfirst\nlast\nword[-1..1]\npos[-2..2]\npos[-1] & pos\npos & pos[1]\n"
LEARNING: dict[str, dict[str, Any]] = {
    "perceptron": {"optimiser": fc.AveragedPerceptron(max_iterations=10)},
    "margin": {"objective": "margin", "optimiser": fc.Subgradient(max_iterations=10)},
    "softmax margin": {"objective": "softmax_margin", "optimiser": fc.LBFGS(max_iterations=50)},
    "likelihood": {"optimiser": fc.LBFGS(max_iterations=50)},
}


class Data(NamedTuple):
    """Sequences with their labels."""

    X: Any
    y: Any


def chunks_of(data: Path, name: str, n: int | None) -> Data:
    """A part of CoNLL-2000."""
    corpus = fc.read(data / "conll2000" / name, columns=["word", "pos", "chunk"], label="chunk")[:n]
    return Data(corpus, corpus.labels)


def entities_of(data: Path, name: str, n: int | None) -> Data:
    """A part of CoNLL-2003, in IOB2."""
    columns = ["word", "pos", "chunk", "ner"]
    corpus = fc.read(data / "conll2003" / name, columns=columns, label="ner")[:n]
    return Data(corpus, convert(corpus.labels, "iob1", "iob2"))


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


def entities(options: argparse.Namespace) -> list[str]:
    """Choose templates on test set A; compare the chosen ones with the chain on test set B."""
    train, testa = (
        entities_of(options.data, name, options.sentences) for name in ("eng.train.gz", "eng.testa")
    )
    lists = gazetteers(options.data)
    shared = {"templates": "entities-gazetteers", "gazetteers": lists, **learning(options)}
    begun, rows = time.monotonic(), []
    tried: dict[str, Any] = {}
    for name, templates in {"chain": None, **VARIANTS}.items():
        if len(tried) > 1 and time.monotonic() - begun > (options.seconds or float("inf")):
            break
        model = (
            fc.ChainCRF(**shared)
            if templates is None
            else fc.SegmentCRF(segment_templates=templates, **shared)
        )
        done = trained(name, model, train)
        tried[name] = done.model, labels_and_f(done.model, testa)[1]
        rows.append([*done.row, tried[name][1]])
        print(" | ".join(rows[-1]), flush=True)
    best = max((name for name in tried if name != "chain"), key=lambda name: float(tried[name][1]))
    testb = entities_of(options.data, "eng.testb", options.sentences)
    answers = {name: labels_and_f(tried[name][0], testb) for name in ("chain", best)}
    report = table(["model", "weights", "seconds", "processor seconds", "F, test set A"], rows)
    final = table(["model", "F, test set B"], [[name, f] for name, (_, f) in answers.items()])
    test = fc.compare(testb.y, answers["chain"][0], answers[best][0], metric="span_f")
    return [*report, "", *final, "", "```", str(test), "```"]


def training(options: argparse.Namespace) -> list[str]:
    """Both models by each way of learning."""
    train, test = (chunks_of(options.data, name, options.sentences) for name in ("train.txt.gz", "test.txt"))
    rows = []
    for name, settings in LEARNING.items():
        for kind in (fc.ChainCRF, fc.SegmentCRF):
            done = trained(f"{kind.__name__}, {name}", kind(FEW, n_jobs=options.jobs, **settings), train)
            rows.append([*done.row, labels_and_f(done.model, test)[1]])
            print(" | ".join(rows[-1]), flush=True)
    return table(["model", "weights", "seconds", "processor seconds", "F"], rows)


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


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
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    for task in options.tasks:
        lines = TASKS[task](options)
        how = f"--iterations {options.iterations} --variance {options.variance:g}"
        how += "" if options.seconds is None else f" --seconds {options.seconds:g}"
        how += "" if options.sentences is None else f" --sentences {options.sentences}"
        head = [
            f"# Segments against the chain: {task}",
            "",
            f"`python -m experiments.segments {task} {how}`",
            "",
        ]
        report = "\n".join([*head, *lines, ""])
        print(report)
        (options.output / f"segments-{task}.md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
