"""One entry of a bake-off, trained on the design that all share.

The clock starts when the design is built. It is stopped while held-out data is scored, so that seconds are
those of training alone; converting the design to the layout of an optimiser is part of training.
Memory is the peak resident set size minus that at the start (Linux; None elsewhere).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldcraft.models.chain import ChainCRF
from fieldcraft.models.held_out import HeldOut
from fieldcraft.models.scored import Scored
from fieldcraft.models.training_settings import SharedDesign
from fieldcraft.optimisers.loop import Record
from fieldcraft.problems import release_memory
from fieldcraft.tuning.bake_off_entry import Entry


class Point(NamedTuple):
    """The state of a training after an iteration; the gap is a fraction of the objective."""

    iteration: int
    seconds: float
    objective: float
    gap: float | None
    score: float | None


def point_of(record: Record, seconds: float) -> Point:
    """The point of a record."""
    gap = None if record.gap is None or not record.objective else record.gap / abs(record.objective)
    return Point(record.iteration, seconds, record.objective, gap, record.held_out)


class Finish(NamedTuple):
    """The result of a training."""

    points: list[Point]
    value: float
    score: float
    seconds: float
    scoring_seconds: float
    memory: float | None  # MB
    active: int
    features: int
    reason: str
    converged: bool
    predicted: NDArray[np.int32]  # [tokens held out]


class Task(NamedTuple):
    """The data and settings that all entries of a bake-off share."""

    crf: ChainCRF
    X: Any  # for the weights of the sequences only
    data: SharedDesign
    held_out: HeldOut
    sample_weight: Any
    max_seconds: float | None


class Clock:
    """A callback of one training: measures its time, reports its points, enforces the time limit."""

    def __init__(self, task: Task, tell: Callable[[Point], Any], stopped: Callable[[], bool]) -> None:
        self.task, self._tell, self._stopped = task, tell, stopped
        self.points: list[Point] = []
        self.reason: str | None = None  # why the clock stopped it
        self.scoring = 0.0
        self.seconds = 0.0
        self.resident = _status("VmRSS")
        self.memory: float | None = None
        self.begun = time.perf_counter()

    def score(self, weights: NDArray[np.float64]) -> float:
        """The held-out score, while the clock is stopped."""
        begun = time.perf_counter()
        score = self.task.held_out(weights)
        self.scoring += time.perf_counter() - begun
        return score

    def __call__(self, record: Record) -> bool:
        seconds = time.perf_counter() - self.begun - self.scoring
        self.points.append(point_of(record, seconds))
        self._tell(self.points[-1])
        limit = self.task.max_seconds
        if self._stopped():
            self.reason = "interrupted"
        elif limit is not None and seconds >= limit:
            self.reason = "time is up"
        return self.reason is not None

    def warn(self, problem: str) -> None:
        """A limit of iterations is part of a bake-off, and ``reason`` says that it was reached."""

    def end(self, reason: str) -> None:
        """Training ended."""
        self.reason = self.reason or reason
        self.seconds = time.perf_counter() - self.begun - self.scoring
        peak = _status("VmHWM")
        if peak is not None and self.resident is not None:
            self.memory = max(0.0, peak - self.resident)


def run_trial(entry: Entry, task: Task, tell: Callable[[Point], Any], stopped: Callable[[], bool]) -> Finish:
    """Train one entry; ``tell`` is called after each iteration, ``stopped`` returns whether to stop."""
    objective, optimiser, prior = entry.parts()
    crf = type(task.crf)(**task.crf.get_params())
    crf.set_params(objective=objective, optimiser=optimiser, prior=prior, verbose=False)
    release_memory()
    clock = Clock(task, tell, stopped)
    trained = crf._training().run(
        task.X,
        None,
        sample_weight=task.sample_weight,
        dev=clock.score,
        control={"callbacks": (clock,)},
        shared=task.data,
    )
    crf._store(trained)
    encoded = task.held_out.encoded
    predicted = Scored(crf._predictor(), None, encoded, keep=False).label_numbers()
    return Finish(
        clock.points,
        crf.objective_value_,
        task.held_out.score(predicted),
        clock.seconds,
        clock.scoring,
        clock.memory,
        int(np.count_nonzero(crf.weights_)),
        len(crf.weights_),
        str(clock.reason),
        crf.converged_,
        predicted,
    )


def _status(field: str) -> float | None:
    """A field of /proc/self/status, in MB."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            match = re.search(rf"{field}:\s+(\d+) kB", file.read())
    except OSError:
        return None
    return float(match[1]) / 1024 if match else None
