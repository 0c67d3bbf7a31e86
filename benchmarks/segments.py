"""``python -m benchmarks.segments [iterations] [similarity] [document] [--check]``: what segments cost.

iterations  CPU seconds of an L-BFGS iteration on CoNLL-2003 with the templates ``entities``: SegmentCRF with
            five types and up to ten tokens a segment, beside the chain of nine labels with the same features.
similarity  CPU and wall seconds to find the near entries (cosine) of 88,799 surnames for every candidate of
            up to ten tokens in all of CoNLL-2003.
document    one iteration and decoding of a synthetic document of 100,000 tokens with five types and up to ten
            tokens a segment: seconds, and the most memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

import fieldcraft as fc
from benchmarks.columns import data_folder
from fieldcraft.corpus.schemes import convert
from fieldcraft.features.similarity import Nearest

MOST_TIMES, MOST_SECONDS, MOST_GIB = 8.0, 30.0, 2.0
COLUMNS = {"columns": ["word", "pos", "chunk", "ner"], "label": "ner"}


def per_iteration(model: fc.ChainCRF | fc.SegmentCRF, X: object, y: object) -> float:
    """CPU seconds: the median over its iterations."""
    stamps: list[float] = []
    model.fit(X, y, callbacks=[lambda _: bool(stamps.append(time.process_time()))])  # type: ignore[func-returns-value]
    return float(np.median(np.diff(stamps)))


def iterations() -> bool:
    """How many times the chain's seconds an iteration takes."""
    corpus = fc.read(data_folder() / "conll2003" / "eng.train.gz", **COLUMNS)
    y = convert(corpus.labels, "iob1", "iob2")
    learning = {"optimiser": fc.LBFGS(max_iterations=8), "n_jobs": 1}
    chain = per_iteration(fc.ChainCRF("entities", **learning), corpus, y)
    segments = per_iteration(fc.SegmentCRF("entities", max_length=10, **learning), corpus, y)
    ratio = segments / chain
    print(f"iteration: chain {chain:.3f} s, segments {segments:.3f} s: {ratio:.1f} times, limit {MOST_TIMES}")
    return ratio <= MOST_TIMES


def similarity() -> bool:
    """Seconds to find the near surnames of all candidates."""
    words, offsets = [], [0]
    for name in ("eng.train.gz", "eng.testa", "eng.testb"):
        for sequence in fc.read(data_folder() / "conll2003" / name, **COLUMNS):
            words += sequence.columns["word"]
            offsets.append(len(words))
    path = data_folder() / "gazetteers" / "surnames_us_census_1990.txt"
    near = Nearest(fc.Gazetteer("surnames", path, case="insensitive"), "cosine")
    begun, used = time.monotonic(), time.process_time()
    rows, _ = near.similarities(words, np.array(offsets), 10, 2)
    wall, cpu = time.monotonic() - begun, time.process_time() - used
    print(f"similarity: {len(words):,} tokens, {len(rows):,} candidates near, {cpu:.1f} CPU s, {wall:.1f} s")
    return cpu <= MOST_SECONDS


def document() -> bool:
    """Memory of one iteration and decoding of a long document."""
    rng = np.random.default_rng(0)
    types = ["A", "B", "C", "D"]
    words: list[str] = []
    labels: list[str] = []
    while len(words) < 100_000:
        x, n = rng.integers(0, 5), int(rng.integers(1, 11))
        n = 1 if x == 4 else n
        words += [f"w{rng.zipf(1.3) % 20_000}" for _ in range(n)]
        labels += ["O"] if x == 4 else [f"B-{types[x]}", *[f"I-{types[x]}"] * (n - 1)]
    begun = time.process_time()
    settings = {"segment_templates": "segment.length\nsegment.text", "max_length": 10}
    crf = fc.SegmentCRF("word[-1..1]\nedge", optimiser=fc.LBFGS(max_iterations=1), **settings)
    crf.fit([words], [labels])
    crf.predict([words])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"document: {len(words):,} tokens, {time.process_time() - begun:.1f} CPU s, {memory:.2f} GiB at most"
    )
    return memory <= MOST_GIB


TASKS: dict[str, Callable[[], bool]] = {
    "document": document,
    "iterations": iterations,
    "similarity": similarity,
}


def main() -> int:
    """Run what was named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.segments", description=__doc__)
    parser.add_argument("tasks", nargs="*", default=[*TASKS])
    parser.add_argument("--check", action="store_true", help="exit 1 if a limit is exceeded")
    given = parser.parse_args()
    kept = [TASKS[name]() for name in given.tasks]
    return int(given.check and not all(kept))


if __name__ == "__main__":
    sys.exit(main())
