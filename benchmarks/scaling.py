"""The same work with several numbers of threads, in one process and in turn.

Each task returns ``seconds``: for each number of threads (as text, for JSON) a list with one entry a round,
in which each number had its turn. Readers take the least on an idle machine and the mean on a busy one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import fieldcraft as fc
from benchmarks.ours import INPUTS, VARIANCE
from benchmarks.timing import clock
from benchmarks.version_worker import evaluation, training_problem
from fieldcraft.problems import crew

Figures = dict[str, Any]
Seconds = dict[str, list[float]]
BRIEF = 10  # iterations of a training whose weights are evaluated, or tag


def estimator(threads: int, templates: str | None = None, iterations: int = BRIEF) -> fc.ChainCRF:
    """L-BFGS with the penalty of the benchmarks."""
    return fc.ChainCRF(
        templates=templates,
        prior=fc.Gaussian(variance=VARIANCE),
        optimiser=fc.LBFGS(max_iterations=iterations, tolerance=0.0, objective_tolerance=0.0),
        n_jobs=threads,
    )


def in_turn(works: Mapping[int, Callable[[], float]], rounds: int) -> Seconds:
    """The seconds that each work tells, round by round."""
    found: Seconds = {str(threads): [] for threads in works}
    for _ in range(rounds):
        for threads, work in works.items():
            found[str(threads)].append(work())
    return found


def _timed(work: Callable[[], Any], times: int = 1) -> Callable[[], float]:
    def seconds() -> float:
        begun = clock()
        for _ in range(times):
            work()
        return (clock() - begun) / times

    return seconds


def evaluations(source: Any, *, counts: Sequence[int], rounds: int, times: int, copies: int = 1) -> Figures:
    """Value and gradient of the native problem, ``times`` in a row, on ``copies`` of the corpus as one."""
    X, y = source.features("train")
    weights = np.array(estimator(max(counts)).fit(X, y).weights_, np.float64)
    X, y = X * copies, y * copies
    problems = {n: training_problem(estimator(n), X, y, clock).problem for n in counts}
    works = {n: evaluation(problem, weights) for n, problem in problems.items()}
    values = {work() for work in works.values()}  # and a first run, which is not timed
    seconds = in_turn({n: _with_crew(n, _timed(work, times)) for n, work in works.items()}, rounds)
    return {"seconds": seconds, "same": len(values) == 1, "tokens": sum(map(len, y))}


def _with_crew(threads: int, work: Callable[[], float]) -> Callable[[], float]:
    """Its evaluations have threads that wait for them, as in a training."""

    def seconds() -> float:
        with crew(threads):
            return work()

    return seconds


def iterations(source: Any, *, counts: Sequence[int], rounds: int) -> Figures:
    """An evaluation with L-BFGS's own work: its seconds over its evaluations."""
    X, y = source.features("train")

    def each(threads: int) -> float:
        last = estimator(threads, iterations=30).fit(X, y).training_log_[-1]
        return float(last.seconds / last.evaluations)

    return {"seconds": in_turn({n: partial(each, n) for n in counts}, rounds)}


def fits(source: Any, *, counts: Sequence[int], rounds: int, also: Sequence[int] = ()) -> Figures:
    """From lists to the end of the default training; bits of the weights, also with ``also`` threads."""
    X, y = source.features("train")
    bits: dict[str, str] = {}

    def fit(threads: int) -> None:
        crf = fc.ChainCRF(prior=fc.Gaussian(variance=VARIANCE), n_jobs=threads).fit(X, y)
        bits[str(threads)] = hashlib.sha256(np.asarray(crf.weights_).tobytes()).hexdigest()[:16]

    works = {n: _timed(partial(fit, n)) for n in counts}
    seconds = in_turn(works, rounds)
    for threads in set(also) - set(counts):
        fit(threads)
    return {"seconds": seconds, "bits": bits, "same": len(set(bits.values())) == 1}


def tagging(source: Any, *, counts: Sequence[int], rounds: int, given: str) -> Figures:
    """The best labels of the training split."""
    X, y = INPUTS[given](source, "train")
    model = estimator(max(counts), source.templates if given == "columns" else None).fit(X, y)

    def tag(threads: int) -> None:
        model.set_params(n_jobs=threads).predict(X)

    tag(1)
    seconds = in_turn({n: _timed(partial(tag, n)) for n in counts}, rounds)
    return {"seconds": seconds, "tokens": sum(map(len, y))}


TASKS: dict[str, Callable[..., Figures]] = {
    "evaluations": evaluations,
    "iterations": iterations,
    "fits": fits,
    "tagging": tagging,
}
