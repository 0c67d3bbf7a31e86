"""``python -m benchmarks.skip_chain [--inference auto] [--iterations N] [--jobs 2] [--check]``: a training.

Trains a skip chain on the 387 announcements of the first fold (the CMU seminars, experiments/skip_chain.py):
all equal capitalised words are joined, features are the set ``announcements``, all else is the default.
Prints CPU and wall seconds; --check exits with 1 if half the CPU time (two cores) is above the limit. The
tagger whose tags the features look at is not part of the measurement.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from experiments import seminars

import fieldcraft as fc
from benchmarks.columns import data_folder

MOST_SECONDS = 600.0  # on two cores


def training(inference: str, iterations: int | None, n_jobs: int) -> tuple[Any, float, float, float]:
    """The model, CPU and wall seconds, and the median of an iteration's CPU seconds."""
    data = data_folder()
    corpus = seminars.tagged(seminars.read(data), data)
    train = np.setdiff1d(np.arange(len(corpus)), seminars.folds(len(corpus))[0]).tolist()
    options: dict[str, Any] = {} if iterations is None else {"optimiser": fc.LBFGS(max_iterations=iterations)}
    model = fc.SkipChainCRF(
        "announcements",
        gazetteers=seminars.name_lists(data),
        max_pairs_per_word=None,
        inference=inference,
        n_jobs=n_jobs,
        **options,
    )
    stamps: list[float] = []
    begun, used = time.monotonic(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the iteration limit
        model.fit(corpus[train], callbacks=[lambda _: bool(stamps.append(time.process_time()))])  # type: ignore[func-returns-value]
    wall, cpu = time.monotonic() - begun, time.process_time() - used
    return model, cpu, wall, float(np.median(np.diff(stamps)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skip_chain", description=__doc__)
    parser.add_argument("--inference", default="auto", help="auto or propagation")
    parser.add_argument("--iterations", type=int, help="at most; the default of SkipChainCRF unless given")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    model, cpu, wall, each = training(given.inference, given.iterations, given.jobs)
    failed = model.training_log_[-1].unconverged
    size = f"{model.n_pairs_:,} skip edges, {len(model.weights_):,} weights"
    print(f"inference {given.inference}, {size}: {cpu:.0f} CPU s, {wall:.0f} s on {given.jobs} threads")
    print(f"{model.n_iter_} iterations of {each:.2f} CPU s (median); {model.stop_reason_}")
    print(f"objective {model.objective_value_:.3f}; {failed} documents did not converge at the end")
    print(f"limit: {MOST_SECONDS:.0f} s on two cores; half the CPU time is {cpu / 2:.0f} s")
    if given.check and cpu / 2 > MOST_SECONDS:
        sys.exit(1)


if __name__ == "__main__":
    main()
