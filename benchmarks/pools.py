"""``python -m benchmarks.pools [--threads 1] [--iterations 20] [--check]``: the cost of training experts.

The POSITIONAL set on CoNLL-2003 with the templates ``entities``: the full model, and what looks behind, at
and ahead of the position. Each member does an L-BFGS iteration in turn, in one process; CPU seconds per
iteration (evaluations, line search and vector operations) are added up. The design is encoded once.
``--masked`` also measures experts whose features are laid out in full and masked.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from benchmarks.columns import data_folder
from fieldcraft import ChainCRF, read
from fieldcraft.optimisers import LBFGS
from fieldcraft.pools import experts
from fieldcraft.pools.restriction import restricted
from fieldcraft.pools.training import Data, Shared
from fieldcraft.priors import NoPrior
from fieldcraft.problems import build, crew

MOST = 2.4  # times the full model's seconds per iteration, for all four members


def runs(threads: int, *, masked: bool) -> dict[str, Any]:
    """A training under way for each member, after the corpus was encoded."""
    path = data_folder() / "conll2003" / "eng.train.gz"
    corpus = read(path, columns=["word", "pos", "chunk", "ner"], label="ner", docstart="keep")
    crf = ChainCRF(templates="entities", prior=None, n_jobs=threads)
    begun = time.process_time()
    shared = Shared.of(crf, Data(corpus, None, None, None))
    structure = crf.structure_for(shared.view.labels).using(threads)
    print(f"encoded once: {time.process_time() - begun:.2f} CPU seconds")
    started = {}
    for expert in experts.positional(crf):
        mask, design = expert.mask(shared.view), shared.data.design
        kinds = {expert.name: restricted(design, mask)}
        if masked and mask is not None:
            kinds[f"{expert.name}, masked"] = design
        for name, own in kinds.items():
            kept = mask if "masked" in name else None
            problem = build(structure, "gradient", own, NoPrior(), mask=kept, n_jobs=threads)
            started[name] = LBFGS().start(problem, np.zeros(len(own.index)))
            print(f"{name}: {len(own.index):,} features, {len(own.encoded.attributes):,} incidences")
    return started


def measured(started: dict[str, Any], iterations: int, threads: int) -> dict[str, float]:
    """CPU seconds per iteration of each member: the median of rounds in which each has its turn."""
    seconds: dict[str, list[float]] = {name: [] for name in started}
    with crew(threads):
        for run in started.values():
            run.begin()
        for _ in range(iterations):
            for name, run in started.items():
                before = time.process_time()
                run.step()
                seconds[name].append(time.process_time() - before)
    return {name: float(np.median(listed)) for name, listed in seconds.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pools", description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--masked", action="store_true", help="also members that are masked")
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {MOST}")
    given = parser.parse_args()
    each = measured(runs(given.threads, masked=given.masked), given.iterations, given.threads)
    for name, value in each.items():
        print(f"{name:>15} {1000 * value:8.1f} ms per iteration  {value / each['full']:.2f}")
    ratio = sum(value for name, value in each.items() if "masked" not in name) / each["full"]
    print(f"four members: {ratio:.2f} times the full model (at most {MOST})")
    return int(given.check and ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
