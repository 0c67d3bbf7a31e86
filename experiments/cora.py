"""Cora: papers with words and citations, labelled together or each on its own.

    python -m experiments.cora [FOLDER] [--draws 10] [--rates 0.2] [--seconds 120]

FOLDER holds cora/: 2,708 papers with 1,433 words each present or not, 5,429 citations, seven topics. A share
of the labels (the rate) is drawn by seed 0, 1, …; both models train on these and are tested on all other
papers. The collective one sees all papers and citations, keeps the known labels and infers by belief
propagation; the other one is the same model without links, which is logistic regression.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import fieldcraft as fc

# Looser than the default: the estimate of log Z is none to 1e-8 anyway.
INFERENCE = {"method": "propagation", "tolerance": 1e-4, "max_iterations": 200}


def read(folder: Path) -> tuple[Any, Any, np.ndarray[Any, Any]]:
    """Words [n, A], citations [n, n] and topics [n]."""
    with gzip.open(folder / "cora.content.gz", "rt") as lines:
        cells = [line.split() for line in lines]
    number = {row[0]: i for i, row in enumerate(cells)}
    words = sparse.csr_array(np.array([row[1:-1] for row in cells], np.float64))
    cited = [line.split() for line in (folder / "cora.cites").read_text().splitlines()]
    pairs = np.array([(number[a], number[b]) for a, b in cited])
    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(cells),) * 2)
    return words, graph, np.array([row[-1] for row in cells], object)


def accuracies(
    words: Any, graph: Any, topics: Any, rate: float, seed: int, seconds: float = 120.0
) -> tuple[float, float, float, int]:
    """Of both models on papers whose label was not drawn, CPU seconds, and answers that did not converge."""
    known = np.random.default_rng(seed).random(len(topics)) < rate
    given = [topic if k else None for topic, k in zip(topics, known)]
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # propagation is never exact here
        model = fc.CollectiveClassifier(inference=INFERENCE, decoding="propagation")
        model.fit(words, graph, given, max_seconds=seconds)
        together = model.score(words, graph, topics, given)
    spent = time.process_time() - begun
    rows = np.flatnonzero(known)
    apart = fc.GraphCRF(["words"]).fit([alone(words[rows], topics[rows])])
    rest = np.flatnonzero(~known)
    unconverged = sum(record.unconverged or 0 for record in model.training_log_)
    return together, apart.score([alone(words[rest], topics[rest])]), spent, unconverged


def alone(words: Any, topics: Any) -> fc.GraphInstance:
    """Papers without citations."""
    n = words.shape[0]
    rows = sparse.hstack([words, sparse.csr_array(np.ones((n, 1)))], format="csr")
    return fc.GraphInstance(n, {"words": (np.arange(n), rows)}, topics.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.cora", description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("FIELDCRAFT_DATA", "../shared/data"))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.2])
    parser.add_argument("--seconds", type=float, default=120.0, help="at which a training ends")
    given = parser.parse_args()
    words, graph, topics = read(Path(given.folder) / "cora")
    print("| rate | seed | collective | alone | CPU seconds | not converged |\n|---|---|---|---|---|---|")
    for rate in given.rates:
        rows = []
        for seed in range(given.draws):
            rows.append(accuracies(words, graph, topics, rate, seed, given.seconds))
            together, apart, seconds, failed = rows[-1]
            scores = f"{100 * together:.1f} | {100 * apart:.1f}"
            print(f"| {rate:g} | {seed} | {scores} | {seconds:.0f} | {failed} |", flush=True)
        mean = np.mean(rows, axis=0)
        print(
            f"| {rate:g} | mean | {100 * mean[0]:.1f} | {100 * mean[1]:.1f} | {mean[2]:.0f} | {mean[3]:.0f} |"
        )


if __name__ == "__main__":
    main()
