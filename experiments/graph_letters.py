"""Handwritten words as graphs: the letters of `experiments.ocr_letters` by GraphCRF.

    python -m experiments.graph_letters [FOLDER] [likelihood] [margin] > experiments/results/graph-letters.md

A word is a graph with a variable for each image, a template of its pixels and a template of neighbours, each
with a full table. For likelihood and margin (block-coordinate Frank-Wolfe), the chain is chosen and tested as
`experiments.ocr_letters` does; the graph is trained with the variance and features that were chosen, and
tested on the same words. Both have the same features, so that their accuracies must agree.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fieldcraft as fc
from experiments import ocr_letters

PIXELS = 128


class Compared(NamedTuple):
    """What was chosen, and the shares of letters that are right."""

    method: str
    variance: float
    features: str
    chain: float
    graph: float
    seconds: float  # CPU time of the graph's training


def graphs(words: ocr_letters.Words) -> list[fc.GraphInstance]:
    """The words as graphs."""
    return [graph(images, letters) for images, letters in zip(words.X, words.y)]


def graph(images: list[list[str]], letters: list[str]) -> fc.GraphInstance:
    """A word: its images have the attributes "constant" and "p0" to "p127"."""
    n = len(images)
    rows = np.zeros((n, PIXELS + 1))
    for t, image in enumerate(images):
        rows[t, [PIXELS if one == "constant" else int(one[1:]) for one in image]] = 1.0
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    return fc.GraphInstance(n, {"pixels": (np.arange(n), rows), "edge": (pairs, None)}, letters)


def model(chain: fc.ChainCRF) -> fc.GraphCRF:
    """A graph model with the settings of a chain."""
    return fc.GraphCRF(
        ["pixels", "edge"],
        prior=chain.prior,
        objective=chain.objective,
        optimiser=chain.optimiser,
    )


def compared(name: str, train: ocr_letters.Words, test: ocr_letters.Words) -> Compared:
    """Train both, test both."""
    method = ocr_letters.METHODS[name]
    found = ocr_letters.run(method, train, test)
    supported: Any = (lambda index: index.count > 0) if found.features == "supported" else None
    begun = time.process_time()
    crf = model(method.make(found.variance, found.features)).fit(graphs(train), feature_mask=supported)
    seconds = time.process_time() - begun
    right = [a == b for labels, y in zip(crf.predict(graphs(test)), test.y) for a, b in zip(labels, y)]
    return Compared(name, found.variance, found.features, found.test, float(np.mean(right)), seconds)


def main(folder: Path, names: list[str]) -> None:
    train, test = ocr_letters.read(folder / "ocr_letters" / "letters.npz")
    print("# Handwritten letters as graphs and as chains\n")
    print(
        f"Right letters in per cent; {len(train.X)} words to train on, {len(test.X)} to test on. Printed by"
    )
    print(f"`python -m experiments.graph_letters {' '.join(names)}`.\n")
    print("| method | variance | features | chain | graph | difference | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        found = compared(name, train, test)
        scores = (
            f"{100 * found.chain:.2f} | {100 * found.graph:.2f} | {100 * (found.graph - found.chain):+.2f}"
        )
        chosen = f"{found.variance:g} | {found.features}"
        print(f"| {name} | {chosen} | {scores} | {found.seconds:.0f} |", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    known = list(ocr_letters.METHODS)
    place = given.pop(0) if given and given[0] not in known else None
    main(Path(place or os.environ.get("FIELDCRAFT_DATA", "../shared/data")), given or known)
