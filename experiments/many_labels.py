"""472 labels: the exact chain against CRFsuite and against error-correcting codes, on the Brown corpus.

    python -m experiments.many_labels exact [--tokens N] [--iterations N] [--peer N]
    python -m experiments.many_labels codes [--tokens N] [--iterations N] [--bits 20 40 80 160]

400 documents to train on, 50 for development, 50 to test on, drawn with seed 0; labels are all 472 tags, and
those that training lacks count as errors. Features: the template set "tagging". ``exact`` prints what an
iteration of L-BFGS takes in wall and processor seconds, the memory, and the same of CRFsuite on the first
--peer tokens (all would take it hours) beside ours on the same tokens. ``codes`` trains a random code for
each number of bits and prints seconds and accuracy of the three decodings beside the exact chain, and a
figure of them. The reports go to experiments/results.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fieldcraft as fc

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


def timed_fit(model: Any, X: Any, y: Any) -> tuple[list[float], list[float]]:
    """Wall and processor seconds of each iteration."""
    wall, used = [time.monotonic()], [time.process_time()]

    def look(_: Any) -> bool:
        wall.append(time.monotonic())
        used.append(time.process_time())
        return False

    model.fit(X, y, callbacks=[look])
    return np.diff(wall).tolist(), np.diff(used).tolist()


def exact(corpus: Brown, *, iterations: int, peer: int) -> list[str]:
    """Seconds of an iteration and memory; CRFsuite's on a part."""
    rows = [
        "| | tokens | labels | wall s / iteration | processor s / iteration | memory, GB |",
        "|---|---|---|---|---|---|",
    ]

    def ours(name: str, part: Sentences, n_jobs: int, labels: list[str]) -> None:
        X, y = split(part)
        settings = {
            "optimiser": fc.LBFGS(max_iterations=iterations),
            "labels": labels,
            "n_jobs": n_jobs,
        }
        wall, used = timed_fit(fc.ChainCRF("tagging", **settings), X, y)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        n = sum(map(len, X))
        figures = f"{min(wall[1:]):.2f} | {min(used[1:]):.2f} | {memory:.2f}"
        rows.append(f"| {name} | {n:,} | {len(labels)} | {figures} |")
        print(rows[-1], flush=True)

    part = first(corpus.train, peer)
    seen = sorted({tag for _, tags in part for tag in tags})  # CRFsuite knows no other labels
    ours("fieldcraft, 2 threads", part, 2, seen)
    ours("fieldcraft, 1 thread", part, 1, seen)
    if peer:
        rows.append(crfsuite(part, corpus.labels, iterations))
        print(rows[-1], flush=True)
    if len(part) < len(corpus.train):
        ours("fieldcraft, 2 threads", corpus.train, 2, corpus.labels)
    return rows


def crfsuite(part: Sentences, labels: list[str], iterations: int) -> str:
    """A row for CRFsuite, with the same attributes."""
    import pycrfsuite  # type: ignore[import-untyped]

    X, y = split(part)
    model = fc.ChainCRF("tagging", optimiser=fc.LBFGS(max_iterations=1), labels=labels).fit(X, y)
    encoder = model.encoder_
    names = encoder.attribute_text(range(encoder.n_attributes))
    encoded = encoder.encode(X, grow=False)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 0.05, "max_iterations": iterations, "feature.possible_transitions": False})
    for a, b, tags in zip(encoded.offsets, encoded.offsets[1:], y):
        spans = zip(encoded.token_ptr[a:b], encoded.token_ptr[a + 1 : b + 1])
        trainer.append([[names[i] for i in encoded.attributes[u:v]] for u, v in spans], tags)
    used = time.process_time()
    trainer.train("/dev/null")
    per = (time.process_time() - used) / max(iterations, 1)
    seen = len({tag for tags in y for tag in tags})
    return f"| CRFsuite, 1 thread | {sum(map(len, X)):,} | {seen} | | {per:.2f} | |"


def codes(
    corpus: Brown, bits: list[int], *, iterations: int
) -> tuple[list[str], dict[str, list[tuple[float, float]]]]:
    """Seconds and accuracy of codes, and of the exact chain."""
    (X, y), (X_test, y_test) = split(corpus.train), split(corpus.test)
    shared = {"optimiser": fc.LBFGS(max_iterations=iterations), "labels": corpus.labels}
    rows = ["| model | bits | training, processor s | decoding | test accuracy |", "|---|---|---|---|---|"]
    curves: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("exact", "product", "hamming", "marginals")
    }
    for n in [None, *bits]:
        begun = time.process_time()
        model: Any = (
            fc.ChainCRF("tagging", **shared) if n is None else fc.CodedCRF("tagging", bits=n, **shared)
        )
        model.fit(X, y)
        took = time.process_time() - begun
        for decoding in ("exact",) if n is None else ("product", "hamming", "marginals"):
            if n is not None:
                model.decoding = decoding
            accuracy = 100 * model.score(X_test, y_test)
            curves[decoding].append((took, accuracy))
            name = "chain" if n is None else "code"
            rows.append(f"| {name} | {n or ''} | {took:.0f} | {decoding} | {accuracy:.2f} |")
            print(rows[-1], flush=True)
    return rows, curves


def picture(curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Accuracy over seconds, a line for each decoding."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, points in curves.items():
        axes.plot(*zip(*points), marker="o", label=name)
    axes.set(xlabel="processor seconds of training", ylabel="test accuracy, %", xscale="log")
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main(arguments: list[str] | None = None) -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(prog="python -m experiments.many_labels", description=__doc__)
    parser.add_argument("task", choices=("exact", "codes"))
    folder = Path(os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=folder, help="folder of the datasets")
    parser.add_argument("--tokens", type=int, help="to train on; all by default")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--peer", type=int, default=10_000, help="tokens that CRFsuite sees; 0 for none")
    parser.add_argument("--bits", type=int, nargs="+", default=[20, 40, 80, 160])
    options = parser.parse_args(arguments)
    corpus = read(options.data, options.tokens)
    if options.task == "exact":
        rows = exact(corpus, iterations=options.iterations, peer=options.peer)
    else:
        rows, curves = codes(corpus, options.bits, iterations=options.iterations)
        picture(curves, RESULTS / "many-labels-codes.png")
    n = sum(len(words) for words, _ in corpus.train)
    command = f"python -m experiments.many_labels {options.task} --iterations {options.iterations}"
    command += f" --tokens {options.tokens}" if options.tokens else ""
    report = "\n".join(
        [f"# Many labels: {options.task}", "", f"`{command}`", "", f"{n:,} tokens.", "", *rows, ""]
    )
    (RESULTS / f"many-labels-{options.task}.md").write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
