"""Trainings of several tables and figures at once, each in a process of its own with one thread.

A table needs trainings, a pool the weights of its members, a contrast those of its two sides, a co-operation
those that it begins at. What is in the archive is not trained again, except where its weights are needed and
were not kept. Work begins in the order of the tables, as soon as what it needs is done. Processes append to
the same files, a line by a single write, so that a run that is stopped keeps what it has.
"""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from experiments import tables
from experiments.archive import Archive, read_lines
from experiments.configuration import Configuration
from experiments.contrasts import contrasted, key_of
from experiments.cooperation import Cooperation, Curve, cooperated, file_of, followed, scored, tested
from experiments.cooperation_figures import CooperationFigure
from experiments.pool import Pool
from experiments.running import Effort, Laboratory
from experiments.table import Contrast, Figure, Table

FOREVER = 1e7  # seconds


class Work(NamedTuple):
    """A piece of work: what is done (a row of DONE) with what, after which other pieces."""

    name: str
    done: str
    what: Any
    needs: tuple[str, ...] = ()


DONE: dict[str, Callable[[Laboratory, Any], object]] = {
    "train": Laboratory.result,
    "weights": Laboratory.weights,
    "best weights": Laboratory.best_weights,
    "pool": Laboratory.result,
    "contrast": lambda laboratory, one: contrasted(one, laboratory),
    "follow": lambda laboratory, curve: followed(curve, laboratory),
    "score": lambda laboratory, curve: scored(curve, laboratory),
    "choose": lambda laboratory, one: cooperated(one, laboratory),
}


class Place(NamedTuple):
    """Where a process finds its data and leaves results."""

    data: Path
    archive: Path
    weights: Path | None
    effort: Effort
    seed: int

    def laboratory(self) -> Laboratory:
        """With what is in the archive now."""
        archive = Archive(self.archive, self.weights)
        return Laboratory(self.data, archive, effort=self.effort, seed=self.seed, say=_say)


@dataclass
class Plan:
    """The work for tables and figures, each piece once, after what it needs."""

    laboratory: Laboratory
    works: dict[str, Work] = field(default_factory=dict)

    def add(self, one: tables.Any) -> None:
        """The work of a table or figure."""
        beside = self.laboratory.archive.path
        if isinstance(one, Table):
            for configuration in (row.configuration for row in one.rows):
                self.result(configuration)
            for _, baseline in one.baselines:
                self.result(baseline)
        elif isinstance(one, Figure):
            self.result(one.configuration)
        elif isinstance(one, Contrast):
            if key_of(one, self.laboratory) not in read_lines(beside.with_name("contrasts.jsonl")):
                sides = [one.before[1], one.after[1]]
                needs = [self.result(side) for side in sides]
                needs += [self.weights(member) for side in sides for member in _members(side)]
                self._do(f"contrast {one.number}", "contrast", one, needs)
        elif isinstance(one, CooperationFigure):
            for _, run in one.runs:
                self.cooperation(run)

    def cooperation(self, run: Cooperation) -> None:
        """Members that are trained together: a piece of work for each curve, then the choice."""
        known = read_lines(file_of(self.laboratory))
        alone = run.alone.key(self.laboratory)
        needs = [self._curve(curve, known) for curve in (run.alone, *run.together.values())]
        if tested(alone) not in known:
            needs.append(self._do(f"score {alone}", "score", run.alone, needs[:1]))
        name = " ".join(curve.key(self.laboratory) for curve in run.together.values())
        if any(needs) or not any(tested(key) in known for key in name.split()):
            self._do(f"choose {name}", "choose", run, needs)

    def _curve(self, curve: Curve, known: dict[str, Any]) -> str:
        """The name of what follows a curve; empty if it is known."""
        key = curve.key(self.laboratory)
        if key in known:
            return ""
        needs = [self.weights(member, "best weights") for member in curve.wanted.members]
        return self._do(f"follow {key}", "follow", curve, needs)

    def result(self, configuration: Configuration | Pool) -> str:
        """The name of what gives a result; empty if it is known."""
        key = self.laboratory.key(configuration)
        if self.laboratory.archive.get(key) is not None:
            return ""
        if isinstance(configuration, Pool):
            wanted = "weights" if self.laboratory.effort.patience is None else "best weights"
            needs = [self.weights(member, wanted) for member in configuration.members]
            return self._do(f"pool {key}", "pool", configuration, needs)
        given = configuration.given
        return self._do(f"train {key}", "train", configuration, [] if given is None else [self.result(given)])

    def weights(self, configuration: Configuration, wanted: str = "weights") -> str:
        """The name of what gives weights; empty if they were kept."""
        key = self.laboratory.key(configuration)
        training = self.result(configuration)
        files = [key, f"{key}-end"] if configuration.follow and wanted == "weights" else [key]
        if training or all(map(self.laboratory.archive.has_weights, files)):
            return training
        kind = wanted if configuration.follow else "weights"
        return self._do(f"{kind} {key}", kind, configuration, [])

    def _do(self, name: str, done: str, what: Any, needs: Iterable[str]) -> str:
        self.works.setdefault(name, Work(name, done, what, tuple(need for need in needs if need)))
        return name


def run(works: Iterable[Work], place: Place, jobs: int, seconds: float = FOREVER) -> list[Work]:
    """Do the work in so many processes; returns what was not done, for want of time or after an error."""
    waiting, done, end = list(works), set[str](), time.monotonic() + seconds
    answers: queue.Queue[tuple[Work, BaseException | None]] = queue.Queue()
    begun: list[Work] = []  # and not done
    running = 0
    with get_context("spawn").Pool(jobs, _begin, (place,)) as pool:
        while waiting or running:
            for work in _ready(waiting, done)[: jobs - running]:
                waiting.remove(work)
                begun.append(work)
                running += 1
                tell = partial(_tell, answers, work)
                pool.apply_async(_do, (work,), callback=tell, error_callback=tell)
            if not running:
                break  # what is waiting needs work that failed
            try:
                work, error = answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            running -= 1
            if error is None:
                done.add(work.name)
                begun.remove(work)
            else:
                _say(f"{work.name}: {type(error).__name__}: {error}")
    return [*begun, *waiting]


def _ready(waiting: list[Work], done: set[str]) -> list[Work]:
    return [work for work in waiting if all(need in done for need in work.needs)]


def _tell(answers: queue.Queue[Any], work: Work, error: BaseException | None) -> None:
    """Work returns nothing, so that only an error comes here."""
    answers.put((work, error))


_here: list[Laboratory] = []


def _begin(place: Place) -> None:
    os.environ["FIELDCRAFT_JOBS"] = "1"
    _here.append(place.laboratory())


def _do(work: Work) -> None:
    """In a process of the pool: what others have done since is read from the archive."""
    laboratory, begun = _here[0], time.perf_counter()
    laboratory.archive = Archive(laboratory.archive.path, laboratory.archive.folder)
    DONE[work.done](laboratory, work.what)
    _say(f"{work.name}: {time.perf_counter() - begun:.0f} s")


def _members(side: Configuration | Pool) -> tuple[Configuration, ...]:
    return side.members if isinstance(side, Pool) else (side,)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
