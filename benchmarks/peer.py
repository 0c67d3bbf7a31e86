"""python-crfsuite's side: L-BFGS with c2 = 1, one thread (it has no more).

Its iteration callback comes after each line search, the first one after the evaluation at zero and
a line search. Hence, with trials n_1 … n_k and callbacks at s_1 … s_k,

    seconds per evaluation = (s_k - s_1) / (n_2 + … + n_k)
    ingestion              = append + (s_1 - start of train) - (1 + n_1) * seconds per evaluation
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pycrfsuite  # type: ignore[import-untyped]

from benchmarks.memory import MemoryAdded
from benchmarks.races import RACES
from benchmarks.scores import accuracy, f1
from benchmarks.timing import clock, cpu_clock, fastest, median_step
from benchmarks.workloads import Features, Labels

Figures = dict[str, Any]


class _Watched(pycrfsuite.Trainer):  # type: ignore[misc]
    """A silent trainer that notes when each iteration ends, in wall time and in CPU time."""

    def __init__(self, algorithm: str = "lbfgs", **settings: Any) -> None:
        super().__init__(algorithm=algorithm, params=settings, verbose=True)
        self.stamps: list[float] = []
        self.cpu: list[float] = []

    def on_iteration(self, *_: Any) -> None:
        self.stamps.append(clock())
        self.cpu.append(cpu_clock())

    def _quiet(self, *_: Any) -> None:
        pass

    on_start = on_featgen_progress = on_featgen_end = on_prepared = _quiet
    on_prepare_error = on_optimization_end = on_end = _quiet


def _featurised(source: Any) -> tuple[Features, Labels, float]:
    """Attribute lists, labels, and the seconds of Python templates where there are columns."""
    if not hasattr(source, "derived"):
        return (*source.features("train"), 0.0)
    columns, labels = source.load("train")
    derived = source.derived(columns)
    begun = clock()
    X = [source.attributes(sequence) for sequence in derived]
    return X, labels, clock() - begun


def train(source: Any, *, iterations: int, model: str, converge: bool = False) -> Figures:
    """From attribute lists to a saved model."""
    X, y, featurised = _featurised(source)
    limits: Figures = {} if converge else {"epsilon": 0.0, "delta": 0.0}
    memory = MemoryAdded()
    begun, cpu = clock(), cpu_clock()
    trainer = _Watched(c1=0.0, c2=1.0, max_iterations=iterations, **limits)
    for sequence, labels in zip(X, y):
        trainer.append(sequence, labels)
    appended = clock()
    trainer.train(model)
    total, total_cpu, added = clock() - begun, cpu_clock() - cpu, memory.added()
    rows = trainer.logparser.iterations
    trials = [row["linesearch_trials"] for row in rows]
    each, ingestion = _parts(trainer.stamps, trials, begun)
    each_cpu, ingestion_cpu = _parts(trainer.cpu, trials, cpu)
    return {
        "ingestion": ingestion,
        "ingestion_cpu": ingestion_cpu,
        "ingestion_from_columns": ingestion + featurised,
        "append": appended - begun,
        "evaluation": each,
        "evaluation_cpu": each_cpu,
        "evaluation_median": median_step(trainer.stamps, trials),
        "total": total,
        "total_cpu": total_cpu,
        "memory": added,
        "objective": rows[-1]["loss"],
        "features": trainer.logparser.featgen_num_features,
        "iterations_done": len(rows),
        "evaluations": 1 + sum(trials),
    }


def _parts(stamps: Sequence[float], trials: Sequence[int], begun: float) -> tuple[float, float]:
    """Seconds per evaluation, and of ingestion, by the equations above."""
    each = (stamps[-1] - stamps[0]) / sum(trials[1:])
    return each, stamps[0] - begun - (1 + trials[0]) * each


def tag(source: Any, *, model: str, repeat: int) -> Figures:
    """Tokens per second on the test split, and the scores."""
    columns, gold = source.load("test")
    derived = source.derived(columns)
    X = [source.attributes(sequence) for sequence in derived]
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    n = sum(map(len, gold))
    label = tagger.labels()[0]

    def marginals() -> None:
        for sequence in X:
            tagger.set(sequence)
            for t in range(len(sequence)):
                tagger.marginal(label, t)

    guess = [tagger.tag(sequence) for sequence in X]
    figures = {
        "strings": n / fastest(lambda: [tagger.tag(s) for s in X], repeat),
        "columns": n / fastest(lambda: [tagger.tag(source.attributes(s)) for s in derived], repeat),
        "marginals": n / fastest(marginals, repeat),
        "accuracy": accuracy(gold, guess),
    }
    return {**figures, "f1": f1(gold, guess)} if source.spans else figures


def optimum(source: Any, *, model: str) -> Figures:
    """Trained until its own stopping rule, then scored."""
    figures = train(source, iterations=1000, model=model, converge=True)
    scores = tag(source, model=model, repeat=1)
    return {k: figures[k] for k in ("objective", "iterations_done", "total")} | {"f1": scores["f1"]}


def race(source: Any, *, name: str, model: str) -> Figures:
    """From attribute lists to the last iteration; the objective there goes into ``model`` + ".target"."""
    X, y = source.features("train")
    algorithm, settings = RACES[name].peer()
    memory = MemoryAdded()
    begun, cpu = clock(), cpu_clock()
    trainer = _Watched(algorithm, **settings)
    for sequence, labels in zip(X, y):
        trainer.append(sequence, labels)
    trainer.train(model)
    figures: Figures = {
        "seconds": trainer.stamps[-1] - begun,
        "seconds_cpu": trainer.cpu[-1] - cpu,
        "memory": memory.added(),
        "objective": trainer.logparser.iterations[-1]["loss"],
        "iterations_done": len(trainer.stamps),
    }
    Path(f"{model}.target").write_text(json.dumps(figures["objective"]))
    scores = tag(source, model=model, repeat=1)
    return figures | {k: scores[k] for k in ("accuracy", "f1") if k in scores}


TASKS: dict[str, Callable[..., Figures]] = {"train": train, "tag": tag, "optimum": optimum, "race": race}
