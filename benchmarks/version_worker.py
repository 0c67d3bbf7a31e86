"""One build of fieldcraft in a process of its own, measured as often as versions.py asks.

    OTHER/bin/python -m benchmarks.version_worker wall

Each line of the standard input is a JSON object, and so is each line of the answer:

    {}                                                       -> {"core": path of the compiled module}
    {"prepare": "W1", "folder": ..., "iterations": ...}      -> {"features": number of weights}
    {"measure": "tagging lists"}                             -> {"seconds": of the quickest run}

This file runs with builds of different age. It uses public names, and of the rest only what
``training_problem`` and ``evaluation`` use: what differs between builds belongs there.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import fieldcraft as fc
from benchmarks import files
from benchmarks.ours import INPUTS, VARIANCE
from benchmarks.tasks import SOURCES
from benchmarks.timing import fastest

Work = Callable[[], Any]
CLOCKS = {"wall": "perf_counter", "cpu": "process_time"}  # functions of the module time


class Reached(BaseException):  # so that no "except Exception" stops it
    """Training is about to begin: the problem is built, and this is what the clock says."""

    def __init__(self, problem: Any, now: float) -> None:
        super().__init__()
        self.problem, self.now = problem, now


def training_problem(crf: fc.ChainCRF, X: Any, y: Any, clock: Callable[[], float]) -> Reached:
    """What ``fit`` passes to L-BFGS to be minimised, and when it did; nothing is trained."""

    def start(_: Any, problem: Any, *__: Any, **___: Any) -> None:
        raise Reached(problem, clock())

    with mock.patch.object(fc.LBFGS, "start", start):
        try:
            crf.fit(X, y)
        except Reached as reached:
            return reached.with_traceback(None)
    raise RuntimeError("fit did not call start() of its optimiser; bring training_problem up to date")


def evaluation(problem: Any, weights: Any) -> Work:
    """One evaluation of the value and the gradient at ``weights``."""
    gradient = np.empty_like(weights)
    return lambda: problem.value_and_gradient(weights, gradient)


class Prepared:
    """A workload with what its measurements need: data, two saved models, two training problems."""

    def __init__(self, source: Any, folder: str, iterations: int, clock: str = "wall") -> None:
        self.clock_name = CLOCKS[clock]
        self.clock: Callable[[], float] = getattr(time, self.clock_name)
        self.templates = {"lists": None, "columns": source.templates}
        self.train = {kind: read(source, "train") for kind, read in INPUTS.items()}
        self.test = {kind: read(source, "test")[0] for kind, read in INPUTS.items()}
        self.first = {"lists": self.test["lists"][:1], "columns": source.load("test")[0][:1]}
        self.path = {kind: str(Path(folder, f"{source.name}-{kind}")) for kind in INPUTS}
        for kind, path in self.path.items():
            self.estimator(kind, 1, iterations).fit(*self.train[kind]).save(path)
        self.model = {kind: fc.load(path).set_params(n_jobs=1) for kind, path in self.path.items()}
        self.pair = {kind: fc.load(path).set_params(n_jobs=2) for kind, path in self.path.items()}
        self.weights = np.array(self.model["lists"].weights_, np.float64)
        self.problem = {n: self.reached("lists", n).problem for n in (1, 2)}

    def estimator(self, kind: str, threads: int, iterations: int = 1) -> fc.ChainCRF:
        """What is trained."""
        return fc.ChainCRF(
            templates=self.templates[kind],
            prior=fc.Gaussian(variance=VARIANCE),
            optimiser=fc.LBFGS(max_iterations=iterations, tolerance=0.0, objective_tolerance=0.0),
            n_jobs=threads,
        )

    def reached(self, kind: str, threads: int) -> Reached:
        """The beginning of a training."""
        return training_problem(self.estimator(kind, threads), *self.train[kind], self.clock)

    def ingestion(self, kind: str, threads: int) -> float:
        """Seconds from sequences and labels to a problem that is ready to be evaluated."""
        begun = self.clock()
        return self.reached(kind, threads).now - begun

    def load(self, kind: str, repeat: int) -> float:
        """Seconds that a new process takes to load a model and to tag one sentence."""
        return sum(files.seconds(self.path[kind], self.first[kind], repeat=repeat, clock=self.clock_name))

    def fastest(self, work: Work, repeat: int) -> float:
        """Seconds of the quickest of ``repeat`` runs."""
        return fastest(work, repeat, self.clock)


class Measure(NamedTuple):
    """Seconds of the quickest of ``repeat`` runs on what was prepared."""

    seconds: Callable[[Prepared, int], float]
    repeat: int


def _evaluation(threads: int) -> Measure:
    return Measure(lambda p, n: p.fastest(evaluation(p.problem[threads], p.weights), n), 5)


def _tagging(kind: str, threads: int = 1) -> Measure:
    def work(p: Prepared) -> Work:
        model = (p.model if threads == 1 else p.pair)[kind]
        return lambda: model.predict(p.test[kind])

    return Measure(lambda p, n: p.fastest(work(p), n), 2)


def _ingestion(kind: str, threads: int = 1) -> Measure:
    return Measure(lambda p, n: min(p.ingestion(kind, threads) for _ in range(n)), 1)


def _load(kind: str) -> Measure:
    return Measure(lambda p, n: p.load(kind, n), 5)


MEASURES: dict[str, Measure] = {
    "evaluation, 1 thread": _evaluation(1),
    "evaluation, 2 threads": _evaluation(2),
    "tagging lists": _tagging("lists"),
    "tagging columns": _tagging("columns"),
    "tagging of lists, 2 threads": _tagging("lists", 2),
    "marginals of lists": Measure(
        lambda p, n: p.fastest(lambda: p.model["lists"].predict_proba(p.test["lists"]), n), 2
    ),
    "ingestion of lists": _ingestion("lists"),
    "ingestion of columns": _ingestion("columns"),
    "ingestion of lists, 2 threads": _ingestion("lists", 2),
    "load and first answer, lists": _load("lists"),
    "load and first answer, columns": _load("columns"),
}


class Worker:
    """Answers one request after the other; seconds are those of ``clock``, wall or cpu."""

    def __init__(self, clock: str = "wall") -> None:
        self.clock = clock
        self.prepared: Prepared | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        if "prepare" in request:
            self.prepared = None  # the last one's memory is free before the next one's is taken
            source = SOURCES[request["prepare"]]
            self.prepared = Prepared(source, request["folder"], request["iterations"], self.clock)
            return {"features": len(self.prepared.weights)}
        if "measure" in request:
            assert self.prepared is not None
            measure = MEASURES[request["measure"]]
            gc.collect()
            return {"seconds": measure.seconds(self.prepared, measure.repeat)}
        return {"core": importlib.import_module("fieldcraft._core").__file__}


def main() -> None:
    """Until the standard input ends."""
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
