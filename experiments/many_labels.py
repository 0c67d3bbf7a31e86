"""472 labels: the exact chain against CRFsuite, against beams and against error-correcting codes, on Brown.

    python -m experiments.many_labels exact [--tokens N] [--iterations N] [--peer N] [--seconds S]
    python -m experiments.many_labels beam  [--tokens N] [--iterations N] [--seconds S]
    python -m experiments.many_labels codes [--tokens N] [--iterations N] [--bits 20 40 80 160]

400 documents to train on, 50 for development, 50 to test on, drawn with seed 0; labels are all 472 tags, and
those that training lacks count as errors. Features: TEMPLATES. Label pairs do not look at the input, since
CRFsuite's cannot (and with 472 labels each position would have 222,784 scores of its own).

exact   seconds of an evaluation of the loss, wall and processor; CRFsuite's on the first --peer tokens (all
        would take it hours) beside ours on the same tokens, in turn; then all tokens: memory, accuracy, and
        the same with the label pairs of the training data only (states="labels+observed")
beam    chains trained with beams: the exact loss that they end with, the mass that they lost, accuracy with
        the beam and without; and the exact chain searched with beams
codes   random codes: seconds and accuracy of the three decodings beside the exact chain, and a figure

A training ends after --iterations or --seconds. Reports go to --output (experiments/results), after each row.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fieldcraft as fc

TEMPLATES = """columns word
edge
first
last
word[-1..1]
prefix(word, 1..3)
suffix(word, 1..4)
contains_digit(word)
contains_hyphen(word)
is_title(word)
is_upper(word)
"""
RESULTS = Path(__file__).parent / "results"
Sentences = list[tuple[list[str], list[str]]]


class Brown(NamedTuple):
    """Sentences of the documents to train on and to test on, and all labels."""

    train: Sentences
    test: Sentences
    labels: list[str]


def documents(path: Path) -> Iterator[Sentences]:
    """The documents: sentences are parted by empty lines."""
    sentences: Sentences = []
    words: list[str] = []
    tags: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in (line.rstrip("\n") for line in lines):
            if "\t" in line:
                word, tag = line.split("\t")
                words.append(word)
                tags.append(tag)
                continue
            if words:
                sentences.append((words, tags))
                words, tags = [], []
            if line.startswith("# doc") and sentences:
                yield sentences
                sentences = []
    if words:
        sentences.append((words, tags))
    yield sentences


def read(data: Path, tokens: int | None) -> Brown:
    """The corpus; at most so many tokens to train on."""
    every = list(documents(data / "brown" / "brown.tsv.gz"))
    order = np.random.default_rng(0).permutation(len(every)).tolist()
    train, _, test = (order[a:b] for a, b in ((0, 400), (400, 450), (450, 500)))
    labels = sorted({tag for document in every for _, tags in document for tag in tags})
    rows = [sentence for d in train for sentence in every[d]]
    return Brown(first(rows, tokens), [sentence for d in test for sentence in every[d]], labels)


def first(rows: Sentences, tokens: int | None) -> Sentences:
    """The first sentences, of so many tokens."""
    if tokens is None:
        return rows
    total = np.cumsum([len(words) for words, _ in rows])
    return rows[: int(np.searchsorted(total, tokens)) + 1]


def split(rows: Sentences) -> tuple[list[list[str]], list[list[str]]]:
    """X and y."""
    return [words for words, _ in rows], [tags for _, tags in rows]


class Report:
    """A table that is written after each row, and its rows as JSON beside it."""

    def __init__(self, task: str, head: list[str], lines: list[str], folder: Path, name: str) -> None:
        self._path, self._head, self._rows = folder / f"many-labels-{name}.md", head, list[dict[str, Any]]()
        self._lines = [f"# Many labels: {task}", "", *lines, ""]

    def add(self, *cells: Any) -> None:
        """One more row."""
        self._rows.append(dict(zip(self._head, cells)))
        print(" | ".join(map(_shown, cells)), flush=True)
        table = [self._head, ["---"] * len(self._head), *(row.values() for row in self._rows)]
        lines = [f"| {' | '.join(map(_shown, row))} |" for row in table]
        self._path.write_text("\n".join([*self._lines, *lines, ""]), encoding="utf-8")
        self._path.with_suffix(".json").write_text(json.dumps(self._rows, indent=1), encoding="utf-8")


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.2g}" if abs(cell) < 0.1 else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


class Timed(NamedTuple):
    """A trained model, and the fewest wall and processor seconds that an evaluation of the loss took."""

    model: Any
    wall: float
    used: float
    iterations: int


def timed_fit(model: Any, part: Sentences, seconds: float | None = None) -> Timed:
    """Train; an iteration that took several evaluations counts for each of them."""
    marks = [(time.monotonic(), time.process_time(), 0)]

    def look(record: Any) -> bool:
        marks.append((time.monotonic(), time.process_time(), record.evaluations))
        return seconds is not None and marks[-1][0] - marks[0][0] > seconds

    model.fit(*split(part), callbacks=[look])
    steps = np.diff(np.array(marks), axis=0)[1:]  # the first one has the encoding
    wall, used = (steps[:, k] / steps[:, 2] for k in (0, 1))
    return Timed(model, float(wall.min()), float(used.min()), len(marks) - 1)


def chain(corpus: Brown, options: argparse.Namespace, **settings: Any) -> Any:
    """A chain over all labels."""
    optimiser = fc.LBFGS(max_iterations=options.iterations)
    settings = {"labels": corpus.labels, "n_jobs": options.jobs, **settings}
    return fc.ChainCRF(TEMPLATES, optimiser=optimiser, **settings)


def accuracy(model: Any, part: Sentences) -> float:
    """Of tokens, in percent."""
    return 100 * float(model.score(*split(part)))


def memory() -> float:
    """The most that this process has used, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def exact(corpus: Brown, options: argparse.Namespace, report: Any) -> None:
    """Seconds of an evaluation and memory; CRFsuite's on a part."""
    table = report(
        ["model", "threads", "tokens", "labels", "wall s", "processor s", "GB", "iterations", "test accuracy"]
    )
    part = first(corpus.train, options.peer)
    seen = sorted({tag for _, tags in part for tag in tags})  # CRFsuite knows no other labels
    size = sum(len(words) for words, _ in part)
    for _ in range(options.rounds if options.peer else 0):
        for jobs in (2, 1):
            got = timed_fit(chain(corpus, options, labels=seen, n_jobs=jobs), part, options.seconds)
            row = [jobs, size, len(seen), got.wall, got.used]
            table.add("fieldcraft", *row, memory(), got.iterations, accuracy(got.model, corpus.test))
        wall, used, score = crfsuite(part, corpus.test, options.iterations)
        table.add("CRFsuite", 1, size, len(seen), wall, used, None, options.iterations, score)
    size = sum(len(words) for words, _ in corpus.train)
    for states in ("labels", "labels+observed"):
        got = timed_fit(chain(corpus, options, states=states), corpus.train, options.seconds)
        row = [options.jobs, size, len(corpus.labels), got.wall, got.used, memory(), got.iterations]
        table.add(f"fieldcraft, states={states}", *row, accuracy(got.model, corpus.test))


def crfsuite(part: Sentences, test: Sentences, iterations: int) -> tuple[float, float, float]:
    """Wall and processor seconds of an evaluation by CRFsuite with the same attributes; test accuracy."""
    import tempfile

    import pycrfsuite  # type: ignore[import-untyped]

    X, y = split(part)
    encoder = fc.ChainCRF(TEMPLATES, optimiser=fc.LBFGS(max_iterations=1)).fit(X, y).encoder_
    names = encoder.attribute_text(range(encoder.n_attributes))

    def items(X: Any) -> list[list[list[str]]]:
        encoded = encoder.encode(X, grow=False)
        ptr, ends = encoded.token_ptr, encoded.offsets
        rows = [[names[i] for i in encoded.attributes[u:v]] for u, v in zip(ptr, ptr[1:])]
        return [rows[a:b] for a, b in zip(ends, ends[1:])]

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        evaluations = 0

        def message(self, message: str) -> None:
            if message.startswith("Line search trials:"):
                self.evaluations += int(message.split(":")[1])

    trainer = Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 0.05, "max_iterations": iterations, "feature.possible_transitions": False})
    for row, tags in zip(items(X), y):
        trainer.append(row, tags)
    with tempfile.NamedTemporaryFile() as file:
        wall, used = time.monotonic(), time.process_time()
        trainer.train(file.name)
        wall, used = time.monotonic() - wall, time.process_time() - used
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        pairs = [(tagger.tag(row), tags) for row, (_, tags) in zip(items(split(test)[0]), test)]
    right = sum(a == b for got, gold in pairs for a, b in zip(got, gold))
    evaluations = trainer.evaluations + 1  # one before the first search
    return wall / evaluations, used / evaluations, 100 * right / sum(len(gold) for _, gold in pairs)


def beam(corpus: Brown, options: argparse.Namespace, report: Any) -> None:
    """What beams cost and lose."""
    table = report(
        [
            "trained with beam",
            "searched with",
            "training, processor s",
            "an evaluation, s",
            "iterations",
            "lost mass",
            "exact loss per token",
            "test accuracy",
            "search, us per token",
        ]
    )
    size, test = sum(len(words) for words, _ in corpus.train), sum(len(words) for words, _ in corpus.test)
    for width in (None, 20, 50, 0.999):
        begun = time.process_time()
        got = timed_fit(chain(corpus, options, beam=width), corpus.train, options.seconds)
        took, model = time.process_time() - begun, got.model
        lost = model.training_log_[-1].lost_mass
        model.beam = None
        loss = -float(model.log_probability(*split(corpus.train)).sum()) / size
        for searched in (None, 20, 10, 5, 0.999, 0.99) if width is None else (width, None):
            model.beam = searched
            model.predict(split(corpus.test)[0][:1])
            begun = time.process_time()
            score = accuracy(model, corpus.test)
            each = 1e6 * (time.process_time() - begun) / test
            row = [str(width), str(searched), took, got.used, got.iterations, lost, loss, score, each]
            table.add(*row)


def codes(corpus: Brown, options: argparse.Namespace, report: Any) -> None:
    """Seconds and accuracy of codes, and of the exact chain."""
    table = report(["model", "bits", "training, processor s", "decoding", "test accuracy", "decoding, s"])
    learning = {"optimiser": fc.LBFGS(max_iterations=options.iterations), "labels": corpus.labels}
    for n in [None, *options.bits] if options.chain else options.bits:
        begun = time.process_time()
        if n is None:
            model: Any = timed_fit(chain(corpus, options), corpus.train, options.seconds).model
        else:
            model = fc.CodedCRF(TEMPLATES, bits=n, n_jobs=options.jobs, **learning)
            model.fit(*split(corpus.train))
        took = time.process_time() - begun
        for decoding in ("exact",) if n is None else ("product", "hamming", "marginals"):
            if n is not None:
                model.decoding = decoding
            begun = time.process_time()
            score = accuracy(model, corpus.test)
            name = "chain" if n is None else "code"
            table.add(name, n, took, decoding, score, time.process_time() - begun)


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy over seconds of training, a line for each decoding, with the bits written beside."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name in ("exact", "product", "hamming", "marginals"):
        points = [row for row in rows if row["decoding"] == name]
        took, score = ([row[key] for row in points] for key in ("training, processor s", "test accuracy"))
        axes.plot(took, score, marker="o", label=name)
        for row, x, y in zip(points, took, score) if name == "product" else ():  # the others lie below
            axes.annotate(f"{row['bits']} bits", (x, y), textcoords="offset points", xytext=(4, 4))
    axes.set(xlabel="processor seconds of training", ylabel="test accuracy, %", xscale="log")
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


TASKS = {"exact": exact, "beam": beam, "codes": codes}


def main(arguments: list[str] | None = None) -> None:
    """Run one of the tasks, or draw its figure again from the rows."""
    parser = argparse.ArgumentParser(prog="python -m experiments.many_labels", description=__doc__)
    parser.add_argument("task", choices=(*TASKS, "figure"))
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of the datasets")
    parser.add_argument("--tokens", type=int, help="to train on; all by default")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--seconds", type=float, help="most for a training")
    parser.add_argument("--peer", type=int, default=20_000, help="tokens that CRFsuite sees; 0 for none")
    parser.add_argument("--rounds", type=int, default=2, help="how often both see them, in turn")
    parser.add_argument("--bits", type=int, nargs="+", default=[20, 40, 80, 160])
    parser.add_argument("--no-chain", dest="chain", action="store_false", help="codes alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--name", help="of the report; the task by default")
    options = parser.parse_args(arguments)
    name = options.name or options.task
    if options.task == "figure":
        rows = json.loads((options.output / "many-labels-codes.json").read_text(encoding="utf-8"))
        picture(rows, options.output / "many-labels-codes.png")
        return
    corpus = read(options.data, options.tokens)
    given = {k: v for k, v in vars(options).items() if v not in (None, parser.get_default(k)) and k != "task"}
    shown = " ".join(
        f"--{k} {_arguments(v)}" for k, v in given.items() if k not in ("data", "output", "chain")
    )
    shown += "" if options.chain else " --no-chain"
    size = sum(len(words) for words, _ in corpus.train)
    lines = [
        f"`python -m experiments.many_labels {options.task} {shown}`",
        "",
        f"{size:,} tokens to train on.",
    ]
    TASKS[options.task](corpus, options, lambda head: Report(options.task, head, lines, options.output, name))


def _arguments(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    main()
