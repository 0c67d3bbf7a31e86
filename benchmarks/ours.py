"""fieldcraft's side, through its public names alone.

A record's ``seconds`` count from the moment the optimiser is set up and about to evaluate for the
first time; so the clock at the first record minus its seconds ends ingestion, and the last record's
seconds over its evaluations are the seconds per evaluation, optimiser included.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import fieldcraft as fc
from benchmarks.memory import MemoryAdded
from benchmarks.races import RACES, Race
from benchmarks.scores import accuracy, f1
from benchmarks.timing import clock, cpu_clock, fastest, median_step

Figures = dict[str, Any]
VARIANCE = 0.5  # CRFsuite's c2 = 1 / (2 variance) = 1
OPTIMUM = 1e-4  # |gradient| <= OPTIMUM * max(1, |w|)

INPUTS: dict[str, Callable[[Any, str], tuple[Any, Any]]] = {
    "lists": lambda source, split: source.features(split),
    "columns": lambda source, split: source.by_column(split),
}


def train(source: Any, *, iterations: int, model: str, threads: int, given: str = "lists") -> Figures:
    """From attribute lists, or raw columns, to a saved model."""
    X, y = INPUTS[given](source, "train")
    optimiser = fc.LBFGS(max_iterations=iterations, tolerance=0.0, objective_tolerance=0.0)
    crf = fc.ChainCRF(
        templates=source.templates if given == "columns" else None,
        prior=fc.Gaussian(variance=VARIANCE),
        optimiser=optimiser,
        n_jobs=threads,
    )
    ready: list[float] = []
    cpu: list[float] = []

    def note(record: Any) -> None:
        ready.append(clock() - record.seconds)
        cpu.append(cpu_clock() - cpu_begun)

    memory = MemoryAdded()
    begun, cpu_begun = clock(), cpu_clock()
    crf.fit(X, y, callbacks=[note])
    crf.save(model)
    total, total_cpu, added = clock() - begun, cpu_clock() - cpu_begun, memory.added()
    log = crf.training_log_
    last = log[-1]
    made = [b.evaluations - a.evaluations for a, b in pairwise(log)]
    each_cpu = (cpu[-1] - cpu[0]) / sum(made)
    return {
        "ingestion": ready[0] - begun,
        "ingestion_cpu": cpu[0] - log[0].evaluations * each_cpu,
        "evaluation": last.seconds / last.evaluations,
        "evaluation_cpu": each_cpu,
        "evaluation_median": median_step([r.seconds for r in log], [0, *made]),
        "total": total,
        "total_cpu": total_cpu,
        "memory": added,
        "objective": crf.objective_value_,
        "features": len(crf.features_),
        "iterations_done": crf.n_iter_,
        "evaluations": last.evaluations,
    }


def tag(source: Any, *, model: str, repeat: int, given: str = "lists", threads: int = 1) -> Figures:
    """Tokens per second on the test split, and the scores."""
    X, gold = INPUTS[given](source, "test")
    begun = clock()
    crf = fc.load(model).set_params(n_jobs=threads)
    figures: Figures = {"load": clock() - begun}
    n = sum(map(len, gold))
    guess = crf.predict(X)
    figures |= {
        "strings" if given == "lists" else "columns": n / fastest(lambda: crf.predict(X), repeat),
        "marginals": n / fastest(lambda: crf.predict_proba(X), repeat),
        "accuracy": accuracy(gold, guess),
    }
    return {**figures, "f1": f1(gold, guess)} if source.spans else figures


def optimum(source: Any, *, model: str) -> Figures:
    """Trained to the optimum, then scored."""
    X, y = source.features("train")
    optimiser = fc.LBFGS(tolerance=OPTIMUM, objective_tolerance=0.0)
    crf = fc.ChainCRF(prior=fc.Gaussian(variance=VARIANCE), optimiser=optimiser)
    begun = clock()
    crf.fit(X, y).save(model)
    figures = {"objective": crf.objective_value_, "iterations_done": crf.n_iter_}
    figures["total"] = clock() - begun
    return figures | {"f1": tag(source, model=model, repeat=1)["f1"]}


def race(source: Any, *, name: str, model: str, threads: int) -> Figures:
    """From attribute lists until the objective is where CRFsuite's ended, if that is known (see races.py)."""
    race_, told = RACES[name], Path(f"{model}.target")
    target = json.loads(told.read_text()) if told.exists() and not race_.passes else -math.inf
    X, y = source.features("train")
    crf = _entrant(race_).set_params(n_jobs=threads)
    path: list[tuple[float, float, float]] = []

    def reached(record: Any) -> bool:
        at = record.objective if record.exact else math.inf  # otherwise it is an estimate
        path.append((clock() - begun, cpu_clock() - cpu, at))
        return at <= target

    memory = MemoryAdded()
    begun, cpu = clock(), cpu_clock()
    crf.fit(X, y, callbacks=[reached])
    if crf.training_log_[-1].exact:  # the weights kept may be better than the last ones
        path.append((clock() - begun, cpu_clock() - cpu, crf.objective_value_))
    figures: Figures = {
        "memory": memory.added(),
        "objective": crf.objective_value_,
        "iterations_done": crf.n_iter_,
        "optimiser": crf.optimiser_.name,
        "stop_reason": crf.stop_reason_,
    }
    if race_.passes:
        figures["seconds"], figures["seconds_cpu"], _ = path[race_.passes - 1]
    else:
        figures["path"] = path
    X, gold = source.features("test")
    guess = crf.predict(X)
    figures["accuracy"] = accuracy(gold, guess)
    return {**figures, "f1": f1(gold, guess)} if source.spans else figures


def _entrant(race_: Race) -> fc.ChainCRF:
    if race_.passes:
        return fc.ChainCRF(optimiser=fc.AveragedPerceptron(max_iterations=race_.passes))
    if race_.c1:
        return fc.ChainCRF(prior=fc.Laplacian(scale=1 / race_.c1))
    return fc.ChainCRF(prior=fc.Gaussian(variance=1 / (2 * race_.c2)))


TASKS: dict[str, Callable[..., Figures]] = {"train": train, "tag": tag, "optimum": optimum, "race": race}
