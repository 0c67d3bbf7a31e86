"""``python -m benchmarks.cooperation [--rounds 10] [--check]``: the cost of the co-operative objective.

CoNLL-2003 with the templates ``entities``, one thread. In each round every member's own problem, that of the
pool as one chain, and the co-operative problem of all are evaluated once, in turn, at random weights. Medians
of CPU seconds: the last one beyond those of the members is compared with that of the pool.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from benchmarks.columns import data_folder
from fieldcraft import ChainCRF, read
from fieldcraft.pools import experts
from fieldcraft.pools.ambiguity_penalties import resolve_penalty
from fieldcraft.pools.cooperative_problem import Cooperative, PlainSum
from fieldcraft.pools.dealt import InOneProcess
from fieldcraft.pools.restriction import restricted
from fieldcraft.pools.training import Data, Shared
from fieldcraft.priors import NoPrior
from fieldcraft.problems import build

MOST = 1.3  # times the pool's evaluation, beyond those of the members
SETS = {"SIMPLE": experts.simple, "POSITIONAL": experts.positional}


def problems(shared: Shared, crf: ChainCRF, family: Any) -> tuple[list[Any], Cooperative]:
    """Each member's problem and that of the pool; and the co-operative one."""
    design, structure = shared.data.design, crf.structure_for(shared.view.labels)
    masks = [expert.mask(shared.view) for expert in family(crf)]
    kept = [np.ones(len(design.index), bool) if mask is None else mask for mask in masks]
    designs = [*(restricted(design, mask) for mask in kept), design]
    each = [build(structure, "gradient", one, NoPrior(), n_jobs=1) for one in designs]
    n = len(kept)
    together = Cooperative(
        InOneProcess(each),
        [np.flatnonzero(mask) for mask in kept],
        [NoPrior().resolved(one.index, shared.view.labels) for one in designs[:-1]],
        n_features=len(design.index),
        n_jobs=1,
        total=float(design.n_sequences),
        pool_weights=np.full(n, 1 / n),
        gamma=1.0,
        penalty=resolve_penalty("inverse"),
        likelihoods=PlainSum(),
    )
    return each, together


def measured(each: list[Any], together: Cooperative, rounds: int) -> tuple[float, float, float]:
    """CPU seconds of the members' evaluations, of the pool's, and of the common one."""
    rng, all_of_them = np.random.default_rng(0), [*each, together]
    points = [rng.normal(scale=0.1, size=problem.n_variables) for problem in all_of_them]
    slopes = [np.empty_like(point) for point in points]
    seconds = np.empty((rounds, len(all_of_them)))
    for row in seconds:
        for i, problem in enumerate(all_of_them):
            before = time.process_time()
            problem.value_and_gradient(points[i], slopes[i])
            row[i] = time.process_time() - before
    *members, pool, common = np.median(seconds, axis=0).tolist()
    return sum(members), pool, common


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cooperation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {MOST}")
    given = parser.parse_args()
    path = data_folder() / "conll2003" / "eng.train.gz"
    corpus = read(path, columns=["word", "pos", "chunk", "ner"], label="ner", docstart="keep")
    crf = ChainCRF(templates="entities", prior=None, n_jobs=1)
    shared = Shared.of(crf, Data(corpus, None, None, None))
    worst = 0.0
    for name, family in SETS.items():
        members, pool, common = measured(*problems(shared, crf, family), given.rounds)
        ratio = (common - members) / pool
        worst = max(worst, ratio)
        print(
            f"{name:>10}  members {1000 * members:.1f} ms, pool {1000 * pool:.1f} ms, together "
            f"{1000 * common:.1f} ms: members + {ratio:.2f} times the pool (at most {MOST})"
        )
    return int(given.check and worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
